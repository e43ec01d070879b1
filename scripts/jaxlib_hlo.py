"""What jaxlib has for HLO, none of it public: |hlo| holds XlaComputation and HloPrintOptions, |mlir| makes HLO of StableHLO.

Versions of jaxlib differ in where these are: tried with 0.4.38, 0.6.2, 0.7.2 and 0.10.2.
"""

try:
    from jaxlib import _hlo as hlo
    from jaxlib._jax import mlir
except ImportError:
    try:
        from jaxlib import _jax as hlo
    except ImportError:
        from jaxlib import xla_extension as hlo
    mlir = hlo.mlir
