"""
Choosing lambda by Stein's risk estimate
========================================

``tune="sure"`` tries several lambdas and keeps the one with the least estimated error. The estimate needs no truth:
it looks at how the result changes when the data are disturbed a little.
"""

import numpy as np
from matplotlib import pyplot as plt
from skimage import data

import plugplay as pp

image = data.brick()[100:196, 100:196] / 255
camera = pp.models.Deblurring(pp.kernels.gaussian(7, sigma=1.0))
y = camera.simulate(image, noise=4 / 255, rng=0)
options = {"denoiser": "tv", "noise": 4 / 255}

rules = pp.restore(y, camera, **options)
tuned = pp.restore(y, camera, tune="sure", rng=0, **options)

# %%
# Against the truth, which neither of them has seen:

lams = np.geomspace(rules.parameters.lam / 20, 20 * rules.parameters.lam, 9)
psnr = [pp.psnr(pp.restore(y, camera, lam=float(lam), **options).image, image) for lam in lams]

figure, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
axes.semilogx(lams, psnr, "o-", color="gray", label="PSNR, measured with the truth")
for name, result, colour in (("rules", rules, "tab:blue"), ("SURE", tuned, "tab:orange")):
    axes.plot(result.parameters.lam, pp.psnr(result.image, image), "D", markersize=9, color=colour, label=name)
    print(f"{name}: lambda {result.parameters.lam:.2g}, {pp.psnr(result.image, image):.2f} dB")
axes.set(xlabel="lambda", ylabel="PSNR (dB)")
_ = axes.legend()
