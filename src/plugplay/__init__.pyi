from . import denoisers as denoisers
from . import io as io
from . import kernels as kernels
from . import models as models
from .checks.certification import certify as certify
from .checks.denoiser_check import check_denoiser as check_denoiser
from .checks.model_check import check_model as check_model
from .metrics import psnr as psnr
from .noise.growing import PoissonGaussian as PoissonGaussian
from .pnp.admm import pnp_admm as pnp_admm
from .pnp.results import History as History
from .pnp.results import Parameters as Parameters
from .pnp.results import Result as Result
from .pnp.results import State as State
from .pnp.results import Status as Status
from .pnp.schedules import Adaptive as Adaptive
from .pnp.schedules import Constant as Constant
from .pnp.schedules import Monotone as Monotone
from .restoration import deblur as deblur
from .restoration import denoise as denoise
from .restoration import inpaint as inpaint
from .restoration import restore as restore
from .restoration import single_photon as single_photon
from .restoration import super_resolve as super_resolve

__version__: str
