# For nixpkgs 25.05 or later.
{ pkgs ? import <nixpkgs> { config.allowUnfree = true; } }:

let
  cuda = pkgs.cudaPackages;
in
pkgs.mkShell {
  packages = [
    pkgs.cargo
    pkgs.rustc
    cuda.cuda_nvcc
  ];
  buildInputs = [
    cuda.cuda_cudart
    cuda.cudnn
  ];
  # The driver of NixOS, which the guard and CUDA open at run time. On other systems, remove this line and use nixGL.
  LD_LIBRARY_PATH = "/run/opengl-driver/lib";
}
