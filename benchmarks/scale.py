"""Tiles, workers and faults, measured: ``python benchmarks/scale.py [NAME] ...``.

seams       A tiled result against the untiled one: RMS of the difference within 8 pixels of seams and elsewhere, PSNR
            of both, and the difference with its contrast stretched as an image.
stability   By how much restored images change if their data change by 0.01/255: no seam can be below that.
gigapixel   A synthetic image made on the fly in a Zarr store is denoised; the peak memory of all processes together.
files       Many small files on 1 and on 2 workers, and the overhead for each.
faults      Worker, scheduler and client are killed at random times; the rerun has the bits of an undisturbed run.
throughput  Megapixels a second of workers against those of the same tiles done one by one.

Without a name all of them run, in full: some hours on two cores.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import os
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
from skimage import data

import plugplay as pp
from plugplay.scale import Processes, Serial
from plugplay.scale.stores import opened
from plugplay.scale.whole import Parts

PLUGPLAY = [sys.executable, "-m", "plugplay"]
# Within so many pixels of a border between cores.
NEAR = 8


def photograph(height: int, width: int) -> np.ndarray:
    """Return a gray image of any size, made of scikit-image's photographs without repeating them in a row."""
    images = [data.camera(), data.moon(), data.coins()[:300, :380], data.brick(), data.grass(), data.page()]
    images += [data.astronaut()[..., 1], data.coffee()[..., 1], data.chelsea()[..., 1], data.gravel()]
    rng, rows, top = np.random.default_rng(0), [], 0
    while top < height:
        row, left = [], 0
        while left < width:
            image = images[rng.integers(len(images))]
            image = image[:300, :380]
            image = np.pad(image, [(0, n - m) for n, m in zip((300, 380), image.shape, strict=True)], mode="reflect")
            row.append(image[:: rng.choice([1, -1]), :: rng.choice([1, -1])])
            left += 380
        rows.append(np.concatenate(row, axis=1)[:, :width])
        top += 300
    return np.concatenate(rows)[:height].astype(np.float32) / 255


def opened_photograph(path: Path, height: int, width: int) -> np.ndarray:
    """Return the middle of a photograph in gray, reduced as far as its size allows."""
    from PIL import Image

    with Image.open(path) as file:
        gray = file.convert("L")
        if min(gray.height / height, gray.width / width) < 1:
            raise SystemExit(f"{path} has {gray.width} x {gray.height} pixels, but {width} x {height} are needed")
        shrunk = min(gray.height / height, gray.width / width)
        gray = gray.resize((round(gray.width / shrunk), round(gray.height / shrunk)), Image.Resampling.BOX)
    top, left = (gray.height - height) // 2, (gray.width - width) // 2
    return np.asarray(gray, np.float32)[top : top + height, left : left + width] / 255


def seams(arguments: argparse.Namespace) -> None:
    """Compare tiles with the whole."""
    height = int((arguments.megapixels * 1e6 / 1.5) ** 0.5)
    size = height + 14, int(1.5 * height) + 14
    truth = photograph(*size) if arguments.image is None else opened_photograph(arguments.image, *size)
    kernel = pp.kernels.parse("motion:15,30")
    for verb in arguments.verbs:
        if verb == "denoise":
            model: object = pp.models.Denoising()
            y = truth + np.random.default_rng(0).normal(0, 10 / 255, truth.shape).astype(np.float32)
            seen = truth
        else:
            model = pp.models.Deblurring(kernel, boundary="unknown")
            y = model.simulate(truth, noise=3 / 255, rng=0).astype(np.float32)
            margins = [(a - b) // 2 for a, b in zip(truth.shape, y.shape, strict=True)]
            seen = truth[margins[0] : margins[0] + y.shape[0], margins[1] : margins[1] + y.shape[1]]
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder) / "y.npy", Path(folder) / "x.npy"
            np.save(source, y)
            parts = Parts.of(opened(source), target, model, {"denoiser": "bm3d"}, core=arguments.core)
            parts.run(Serial(), "0" * 64)
            tiled = np.load(target)
        whole = pp.restore(y, model)
        near = np.zeros(y.shape, bool)
        for axis in (0, 1):
            for border in range(parts.grid.core[axis], y.shape[axis], parts.grid.core[axis]):
                near[(slice(None),) * axis + (slice(border - NEAR, border + NEAR),)] = True
        difference = 255 * (tiled - whole.image)
        inside, at = (float(np.sqrt(np.mean(difference[place] ** 2))) for place in (~near, near))
        print(
            f"{verb}: {y.shape[1]} x {y.shape[0]}, cores {parts.grid.core}, halo {parts.grid.halo}, blend "
            f"{parts.grid.blend}; RMS difference {inside:.3f}/255 inside, {at:.3f}/255 within {NEAR} pixels of seams; "
            f"PSNR tiled {pp.psnr(np.clip(tiled, 0, 1), seen):.3f}, whole "
            f"{pp.psnr(np.clip(whole.image, 0, 1), seen):.3f} dB; noise {255 * parts.choices.parameters.noise:.3f} and "
            f"{255 * whole.parameters.noise:.3f}, lambda {parts.choices.parameters.lam:.4g} and "
            f"{whole.parameters.lam:.4g}, iterations {parts.choices.parameters.max_iter} and "
            f"{len(whole.history.at_level(0))}",
            flush=True,
        )
        if arguments.save is not None:
            from PIL import Image

            shown = np.clip(127.5 + 4 * difference, 0, 255).astype(np.uint8)
            Image.fromarray(shown).save(arguments.save / f"seams-{verb}.png")


def stability(arguments: argparse.Namespace) -> None:  # noqa: ARG001 - as all the others
    """Restore data, and the same data with a tiny change, with the parameters of the first."""
    images = {"coins": data.coins(), "grass": data.grass(), "page": data.page(), "cat": data.chelsea()[..., 1]}
    changes = []
    for (name, image), kernel in itertools.product(images.items(), ("motion:15,30", "gaussian:1.6")):
        model = pp.models.Deblurring(pp.kernels.parse(kernel), boundary="unknown")
        y = model.simulate(image[:190, :200] / 255, noise=3 / 255, rng=0).astype(np.float32)
        change = np.random.default_rng(1).normal(0, 0.01 / 255, y.shape).astype(np.float32)
        before, after = (pp.restore(each, model, noise=3 / 255).image for each in (y, y + change))
        changes.append(255 * float(np.sqrt(np.mean((after - before) ** 2))))
        print(f"{name}, {kernel}: {changes[-1]:.3f}/255", flush=True)
    print(f"mean: {np.mean(changes):.3f}/255")


def synthetic(path: Path, side: int, *, chunk: int = 512, shard: int = 1024) -> None:
    """Write a noisy image of any size into a sharded store, a shard at a time."""
    import zarr

    store = zarr.create_array(
        str(path), shape=(side, side), dtype="uint8", chunks=(chunk, chunk), shards=(shard, shard), overwrite=True
    )
    base = 255 * photograph(shard, shard)
    for row in range(0, side, shard):
        for column in range(0, side, shard):
            size = min(shard, side - row), min(shard, side - column)
            rng = np.random.default_rng((row, column))
            block = np.roll(base, rng.integers(shard, size=2), (0, 1))[: size[0], : size[1]]
            store[row : row + size[0], column : column + size[1]] = np.clip(block + rng.normal(0, 10, size), 0, 255)


class Memory(threading.Thread):
    """Watches the memory of a process and of all its children, in bytes."""

    def __init__(self, process: int) -> None:
        super().__init__(daemon=True)
        self._process, self.peak, self.done = process, 0, False

    def run(self) -> None:
        """Look four times a second."""
        while not self.done:
            self.peak = max(self.peak, sum(map(_resident, _family(self._process))))
            time.sleep(0.25)


def _family(process: int) -> list[int]:
    found = [process]
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        try:
            children = task.read_text().split()
        except OSError:
            continue
        for child in children:
            found += _family(int(child))
    return found


def _resident(process: int) -> int:
    try:
        # Pages that processes share count once, as shares.
        text = Path(f"/proc/{process}/smaps_rollup").read_text()
        return 1024 * int(text.split("Pss:")[1].split()[0])
    except (OSError, IndexError):
        return 0


def gigapixel(arguments: argparse.Namespace) -> None:
    """Denoise a large store by the command, and watch its memory."""
    side = int((arguments.megapixels * 1e6) ** 0.5)
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        source, target = Path(folder) / "y.zarr", Path(folder) / "x.zarr"
        began = time.perf_counter()
        synthetic(source, side)
        print(f"{side} x {side} pixels written in {time.perf_counter() - began:.0f} s")
        words = [*PLUGPLAY, "denoise", source, "-o", target, "--on", arguments.on, "--memory", arguments.memory]
        words += ["--denoiser", arguments.denoiser]
        print(subprocess.run([*map(str, words), "--dry-run"], capture_output=True, text=True).stdout.strip())
        began = time.perf_counter()
        process = subprocess.Popen([*map(str, words), "-q"])
        memory = Memory(process.pid)
        memory.start()
        code = process.wait()
        seconds = time.perf_counter() - began
        memory.done = True
        print(
            f"exit code {code}, {seconds:.0f} s, {side * side / 1e6 / seconds:.2f} megapixels a second, peak memory of "
            f"all processes {memory.peak / 1e9:.2f} GB"
        )


def files(arguments: argparse.Namespace) -> None:
    """Restore many small files on one and on two workers."""
    from plugplay import io

    rng = np.random.default_rng(0)
    image = 255 * photograph(600, 760)
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        source = Path(folder) / "in"
        source.mkdir()
        for number in range(arguments.count):
            top, left = rng.integers(600 - arguments.side), rng.integers(760 - arguments.side)
            part = image[top : top + arguments.side, left : left + arguments.side]
            noisy = np.clip(part + rng.normal(0, 10, part.shape), 0, 255).astype(np.uint8)
            io.write(source / f"{number:05}.png", io.ImageFile.of(noisy))
        # A few files compile what all need; then a tenth of them: what the others take beyond is not the start.
        few = sorted(source.iterdir())[: max(arguments.count // 10, 1)]
        spent = {}
        for name, on, inputs in (("first", 1, few[:2]), ("few", 1, few), ("two", 2, [source]), ("one", 1, [source])):
            words = [*PLUGPLAY, "denoise", *inputs, "-o", Path(folder) / name, "--on", f"processes:{on}", "-q"]
            before = _clocks()
            subprocess.run([*map(str, words), "--workers", "1", "--denoiser", arguments.denoiser], check=True)
            spent[name] = _clocks() - before
        images = opened_images(source)
        for _ in range(2):  # the first time compiles
            before = _clocks()
            for pixels in images:
                pp.denoise(pixels, denoiser=arguments.denoiser, workers=1)
            alone = (_clocks() - before) / len(images)
        each = (spent["one"] - spent["few"]) / (arguments.count - len(few))
        print(
            f"{arguments.count} files of {arguments.side} pixels square: one worker {spent['one'][0]:.1f} s, "
            f"two {spent['two'][0]:.1f} s, {spent['one'][0] / spent['two'][0]:.2f} times; processor time "
            f"{spent['one'][1]:.1f} s and {spent['two'][1]:.1f} s"
        )
        for kind, (whole, own) in zip(("time", "processor time"), zip(each, alone, strict=True), strict=True):
            print(
                f"{kind}: a file takes {1e3 * whole:.1f} ms, of which {1e3 * own:.1f} ms in plugplay.denoise, overhead "
                f"{1e3 * (whole - own):.1f} ms"
            )


def _clocks() -> np.ndarray:
    """Return the time, and the processor time of this process and of all that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return np.array([time.perf_counter(), sum(each.ru_utime + each.ru_stime for each in used)])


def opened_images(folder: Path) -> list[np.ndarray]:
    """Return the pixels of up to fifty files."""
    from plugplay import io

    return [io.read(path).pixels for path in sorted(folder.glob("*.png"))[:50]]


def digest(path: Path) -> str:
    """Return the digest of a store."""
    found = sorted(file for file in path.rglob("*") if file.is_file())
    return hashlib.sha256(b"".join(file.read_bytes() for file in found)).hexdigest()


def faults(arguments: argparse.Namespace) -> None:
    """Kill something at a random time, and rerun; the scheduler and the workers are processes of their own."""
    chance = random.Random(arguments.seed)
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder = Path(name)
        synthetic(folder / "y.zarr", arguments.side, chunk=128, shard=128)
        words = [*map(str, [*PLUGPLAY, "denoise", folder / "y.zarr", "-o", folder / "x.zarr"])]
        words += ["--denoiser", arguments.denoiser, "--memory", "560M", "--quiet"]  # for tiles of 256 pixels
        cluster = _Cluster(environment)
        subprocess.run([*words, "--on", cluster.start()], env=environment, check=True)
        whole, steps = digest(folder / "x.zarr"), 2 * (arguments.side // 256) ** 2
        print(f"undisturbed: {steps} tiles and cores, {whole[:16]}", flush=True)
        good, disturbed = 0, 0
        for trial in range(arguments.kills):
            shutil.rmtree(folder / "x.zarr")
            victim = ("worker", "scheduler", "client")[trial % 3]
            # A time at which there is work: after some tile or core, and a little later.
            last = chance.randrange(1, steps - 1)
            process = subprocess.Popen(
                [*words, "--on", cluster.start()], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
            while _journal(folder) < last and process.poll() is None:
                time.sleep(0.005)
            time.sleep(chance.uniform(0, 0.1))
            tiles, busy = _journal(folder), process.poll() is None
            disturbed += busy
            (process if victim == "client" else cluster.member(victim)).send_signal(signal.SIGKILL)
            told = process.communicate(timeout=600)[0].decode().strip().splitlines()[-1:]
            first, reruns = process.returncode, 0
            while not (folder / "x.zarr").exists() and reruns < 3:
                subprocess.run([*words, "--on", cluster.start()], env=environment, capture_output=True)
                reruns += 1
            same = (folder / "x.zarr").exists() and digest(folder / "x.zarr") == whole
            good += same
            print(
                f"{trial + 1}: {victim} killed after {tiles} tiles and cores{'' if busy else ' (at the end)'}, "
                f"exit code {first}, {reruns} reruns, same bits: {same} {told}",
                flush=True,
            )
        cluster.stop()
        print(f"{good} of {arguments.kills} ended with the bits of the undisturbed run; {disturbed} were disturbed")


def _journal(folder: Path) -> int:
    """Return how many tiles and cores an unfinished result has."""
    with suppress(OSError, ValueError):
        (path,) = folder.glob(".plugplay-parts-*/journal.jsonl")
        return len(path.read_text().split("\n{")) - 1
    return 0


class _Cluster:
    """A scheduler and two workers, each a process that can be killed."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._environment, self._members = environment, {}
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]

    def start(self) -> str:
        """Start what is not running; return the address."""
        port = self._port
        address = f"tcp://127.0.0.1:{port}"
        worker = ["distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard", "--no-nanny"]
        words = {
            "scheduler": ["distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(port)],
            "worker1": worker,
            "worker2": worker,
        }
        dead = [name for name in words if name not in self._members or self._members[name].poll() is not None]
        if "scheduler" in dead:  # workers do not outlive it for long
            self.stop()
            dead = list(words)
        for name in dead:
            self._members[name] = subprocess.Popen(
                [sys.executable, "-m", *words[name]],
                env=self._environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        while True:  # until it listens
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                return address
            time.sleep(0.2)

    def member(self, kind: str) -> subprocess.Popen[bytes]:
        """Return a process of a kind."""
        return self._members["scheduler" if kind == "scheduler" else "worker1"]

    def stop(self) -> None:
        """End all."""
        for process in self._members.values():
            process.kill()
            process.wait()


def throughput(arguments: argparse.Namespace) -> None:
    """Compare workers with one after another; first, what a core does, in processor time."""
    noisy = data.camera() / 255 + np.random.default_rng(0).normal(0, 10 / 255, (512, 512))
    pp.denoise(noisy[:64, :64].astype(np.float32), denoiser=arguments.denoiser, workers=1)
    for label, noise in (("noise estimated", None), ("noise given, as in tiles", 10 / 255)):
        began = time.process_time()
        pp.denoise(noisy.astype(np.float32), denoiser=arguments.denoiser, noise=noise, workers=1)
        each = (time.process_time() - began) / (noisy.size / 1e6)
        print(f"{each:.2f} s of processor time for each megapixel ({label})", flush=True)
    crews = {"one after another": Serial(1), f"{arguments.workers} workers": Processes(arguments.workers, threads=1)}
    # Two sizes: what the larger one takes beyond is not the start of workers.
    sides = [int((arguments.megapixels * share * 1e6) ** 0.5) for share in (0.2, 1)]
    spent: dict[str, list[np.ndarray]] = {label: [] for label in crews}
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder = Path(name)
        for side, (label, executor) in itertools.product(sides, crews.items()):
            source = folder / f"{side}.zarr"
            if not source.exists():
                synthetic(source, side, chunk=512, shard=512)
            target = folder / f"{side}-{executor.slots}.zarr"
            options = {"denoiser": arguments.denoiser}
            parts = Parts.of(opened(source), target, pp.models.Denoising(), options, core=512)
            before = _clocks()
            parts.run(executor, "0" * 64)
            spent[label].append(_clocks() - before)
            time_, processor = spent[label][-1]
            print(f"{label}: {len(parts.grid)} tiles in {time_:.1f} s, {processor:.1f} s of processor time", flush=True)
    more = (sides[1] ** 2 - sides[0] ** 2) / 1e6
    one, many = (more / (large - small) for small, large in spent.values())
    print(
        f"{one[0]:.3f} megapixels a second one after another, {many[0]:.3f} by {arguments.workers} workers: "
        f"{many[0] / one[0] / arguments.workers:.2f} of {arguments.workers} times; for a second of processor time "
        f"{one[1]:.3f} and {many[1]:.3f}"
    )


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = {
        "seams": seams,
        "stability": stability,
        "gigapixel": gigapixel,
        "files": files,
        "faults": faults,
        "throughput": throughput,
    }
    parser.add_argument("name", nargs="?", choices=commands, help="what is measured; all if not given")
    parser.add_argument("--megapixels", type=float, help="size of the image: 8, 1000 and 16 by default")
    parser.add_argument("--core", type=int, default=512, help="side of a tile (seams)")
    parser.add_argument("--image", type=Path, help="a photograph (seams); by default scikit-image's side by side")
    parser.add_argument("--verbs", nargs="+", default=["denoise", "deblur"], help="what is compared (seams)")
    parser.add_argument("--save", type=Path, help="folder for the differences (seams)")
    parser.add_argument("--folder", type=Path, help="where temporary stores go; a gigapixel takes 3 GB")
    parser.add_argument("--on", default="processes:2", help="executor (gigapixel)")
    parser.add_argument("--memory", default="1500M", help="of all workers together (gigapixel)")
    parser.add_argument("--count", type=int, default=2000, help="number of files")
    parser.add_argument("--side", type=int, help="side of a file (128) or of the store that is disturbed (1024)")
    parser.add_argument("--kills", type=int, default=20, help="number of kills (faults)")
    parser.add_argument("--seed", type=int, default=0, help="of the times at which processes are killed")
    parser.add_argument("--workers", type=int, default=2, help="number of workers (throughput)")
    parser.add_argument("--denoiser", default="bm3d", help="by name")
    given = parser.parse_args()
    for name in [given.name] if given.name else commands:
        arguments = argparse.Namespace(**vars(given))
        arguments.megapixels = given.megapixels or {"seams": 8, "gigapixel": 1000}.get(name, 16)
        arguments.side = given.side or (1024 if name == "faults" else 128)
        print(f"== {name}", flush=True)
        commands[name](arguments)


if __name__ == "__main__":
    main()
