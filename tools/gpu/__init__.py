"""Code of `gpu_pack` and `gpu_run`: what is carried to a borrowed machine, and the stages that run there."""
