"""Many files: failures, re-runs, interruptions, large photographs."""

import json
import os
import resource
import signal
import subprocess
import time

import numpy as np
import pytest
from PIL import Image
from skimage import data

from plugplay import io
from plugplay.io import ImageFile

CHEAP = ("--denoiser", "tv", "--max-iter", "1")
MANIFEST = ".plugplay-manifest.jsonl"


def test_two_hundred_files_some_of_them_bad(run, tmp_path, noisy):
    folder, out = tmp_path / "in", tmp_path / "out"
    (folder / "sub").mkdir(parents=True)
    pixels = (noisy * 255).astype(np.uint8)
    bad = {"empty.png": b"", "text.png": b"hello", "cut.tif": None, "rubbish.jpg": b"\xff\xd8\xff\xe0rubbish"}
    for number in range(196):
        name = f"sub/{number}.png" if number % 2 else f"{number}.tif"
        io.write(folder / name, ImageFile.of(pixels))
    bad["cut.tif"] = (folder / "0.tif").read_bytes()[:200]
    for name, content in bad.items():
        (folder / name).write_bytes(content)
    (folder / "notes.txt").write_text("not an image, not named like one")

    done = run("denoise", folder, "-o", out, *CHEAP)
    assert done.returncode == 1
    assert "196 restored, 0 skipped, 4 failed" in done.stdout
    failed = [line for line in done.stderr.splitlines() if line.startswith("failed: ")]
    assert sorted(os.path.basename(line.split(":")[1].split()[0]) for line in failed) == sorted(bad)  # noqa: PTH119
    written = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    assert {name for name in written if MANIFEST in name} == {MANIFEST, f"sub/{MANIFEST}"}
    assert len(written) == 196 + 2
    assert {"sub/1.png", "194.tif"} <= written

    before = (out / "0.tif").stat().st_mtime_ns
    (out / "2.tif").unlink()
    done = run("denoise", folder, "-o", out, "--json", *CHEAP)
    records = [json.loads(line) for line in done.stdout.splitlines()]
    counts = [sum(r["status"] == status for r in records) for status in ("restored", "skipped", "failed")]
    assert counts == [1, 195, 4]
    assert (out / "0.tif").stat().st_mtime_ns == before
    run("denoise", folder / "0.tif", "-o", out, "--overwrite", *CHEAP)
    assert (out / "0.tif").stat().st_mtime_ns > before


def test_outputs_inside_the_input_folder_are_not_inputs(run, tmp_path, noisy):
    io.write(tmp_path / "a.png", ImageFile.of((noisy * 255).astype(np.uint8)))
    for _ in range(2):
        assert run("denoise", tmp_path, "-o", tmp_path / "out", *CHEAP).returncode == 0
    assert sorted(path.name for path in (tmp_path / "out").rglob("*")) == [MANIFEST, "a.png"]


def test_globs_and_formats(run, tmp_path, noisy):
    for name in ("a.png", "b.png", "c.tif"):
        io.write(tmp_path / name, ImageFile.of((noisy * 255).astype(np.uint8)))
    assert run("denoise", tmp_path / "*.png", "-o", tmp_path / "out", "--format", "webp", *CHEAP).returncode == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [MANIFEST, "a.webp", "b.webp"]
    done = run("denoise", tmp_path / "a.png", tmp_path / "./a.png", "-o", tmp_path / "twice", *CHEAP)
    assert (done.returncode, "--output would overwrite --output, " in done.stderr) == (2, True)


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interruption_leaves_only_whole_files(started, command, environment, tmp_path, sent, code):
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    image = data.camera()
    for number in range(60):
        io.write(folder / f"{number:02}.png", ImageFile.of(image))
    words = [*command, "denoise", folder, "-o", out, "--denoiser", "tv"]
    process = started(words, environment)
    while not list(out.glob("[0-9]*.png")):
        time.sleep(0.05)
        assert process.poll() is None
    process.send_signal(sent)
    _, told = process.communicate(timeout=120)
    assert process.returncode == code
    assert "Traceback" not in told
    assert " of 60 done; rerun to resume" in told
    written = [path for path in out.iterdir() if path.name != MANIFEST]
    assert 0 < len(written) < 60
    for path in written:  # no temporary file, and every file is whole
        assert io.read(path).pixels.shape == image.shape


def test_a_photograph_of_twelve_megapixels(command, environment, tmp_path):
    photograph = np.tile(data.astronaut(), (6, 8, 1))[:3000, :4000]
    Image.fromarray(photograph).save(tmp_path / "photo.jpg", quality=90)
    words = [*command, "denoise", "photo.jpg", "-o", "out.jpg", "--noise", "5/255", "--denoiser", "wavelet"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert "photo.jpg: restoring 12.0 MP, denoised with sigma 0.0196" in done.stderr
    assert "4000 x 3000, 3 channels, uint8" in done.stdout
    # The largest of all children so far, in kilobytes: this one.
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 3_000_000
    with Image.open(tmp_path / "out.jpg") as restored:
        assert restored.size == (4000, 3000)
