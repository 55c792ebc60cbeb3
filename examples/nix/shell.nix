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
  # The driver of NixOS, which the guard and CUDA open at run time.
  LD_LIBRARY_PATH = "/run/opengl-driver/lib";
}
