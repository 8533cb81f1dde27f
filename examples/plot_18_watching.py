"""
Watching, stopping and resuming a run
=====================================

`plugplay.prepare` decides everything and runs nothing. A plan is then an ordinary loop: look at the image of each
iteration, stop when you like, go on later.
"""

from matplotlib import pyplot as plt
from skimage import data

import plugplay as pp


def show(images, **options):
    """Show named images side by side."""
    figure, axes = plt.subplots(1, len(images), figsize=(3.3 * len(images), 3.6), layout="constrained")
    for place, (title, image) in zip(axes, images.items()):
        place.imshow(image, **{"cmap": "gray", "vmin": 0, "vmax": 1, **options})
        place.set_title(title, fontsize=11)
        place.axis("off")
    return figure


image = data.camera()[60:188, 170:298] / 255
camera = pp.models.Deblurring(pp.kernels.motion(11, 60))
y = camera.simulate(image, noise=3 / 255, rng=0)

plan = pp.prepare(y, camera, noise=3 / 255)
print(plan.parameters.schedule, f"lambda {plan.parameters.lam:.2g}")

# %%
# Sigma falls from iteration to iteration: first large structures are decided, then detail.

kept = {f"observed, {pp.psnr(y, image):.1f} dB": y}
for state in plan.iterate():
    if state.iteration in (1, 4, 10):
        now = plan.image(state)
        kept[f"iteration {state.iteration}, {pp.psnr(now, image):.1f} dB"] = now
    if state.iteration == 10:
        break

# %%
# The state can be saved and continued, in another process or on another day.

result = plan.resumed(state).run()
kept[f"resumed, {pp.psnr(result.image, image):.1f} dB"] = result.image
print(result.status)
_ = show(kept)
