// Before and after: a range input moves the edge. Without this script both images are shown one above the other.
for (const box of document.querySelectorAll(".compare")) {
  const slider = document.createElement("input");
  slider.type = "range";
  slider.min = 0;
  slider.max = 100;
  slider.value = 50;
  slider.setAttribute("aria-label", "Show more of the blurred or of the restored image");
  const move = () => box.style.setProperty("--edge", `${slider.value}%`);
  slider.addEventListener("input", move);
  box.append(slider);
  box.classList.add("ready");
  move();
}
