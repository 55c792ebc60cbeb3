//! The faults that prevent a program from running.

use crate::inspection::Undefined;
use crate::model::{Missing, Object, Owner};
use crate::runtime::binary::Defect;
use crate::runtime::driver::Device;
use crate::runtime::facts::Target;
use crate::runtime::loader::FoundFile;
use std::path::{Path, PathBuf};

/// The crate tch if LIBTORCH_USE_PYTORCH is set.
pub const PYTHONS: &str = "tch with Python's PyTorch";

pub enum InspectionFault<'a> {
    /// A file that is not a program, or a damaged one.
    Unreadable(&'a Path, Defect),
    /// A program whose loader does not exist on the inspected system, and the loader.
    NoInterpreter(&'a Path, &'a str),
    /// A program or library for glibc on a system whose C library is musl, musl's loader, and the loader if it does not
    /// exist.
    NoGlibc(Option<&'a Path>, String, Option<&'a str>),
    /// A program for musl that uses cuDNN.
    UsesMusl(&'a Path, &'a str),
    /// A package that was built without CUDA, and the reason.
    WithoutCuda(&'a str, &'a str),
    /// A package that was built to be linked with cuDNN, in a program that is not.
    NotLinked(&'a str, &'a Path),
    /// A crate whose framework is found without this library, which is its CUDA part, in these directories.
    NoProvider(&'a str, &'a str, &'a [PathBuf]),
    /// A PyTorch of this version, a version of torch-sys, the other version that it requires, and the installer.
    OtherTorch(&'a Path, &'a str, &'a str, &'a str, Option<&'a str>),
    /// A PyTorch without CUDA, its version, its installer, and a variable that names the installer's index.
    CpuTorch(&'a Path, &'a str, Option<&'a str>, Option<&'a str>),
    /// A library that several wheels contain, the wheels, and the only one whose record has the size of the file. The
    /// first wheel should be kept.
    SharedFile(&'a Path, &'a [Owner], Option<&'a Owner>),
    /// Libraries of the driver in an image. The first argument is one of them.
    DriverInImage(&'a Path, &'a [PathBuf]),
    /// Functions that the driver in this file does not have. `true` if the program exits because of them.
    DriverWithout(&'a Undefined<'a>, &'a Object, bool),
    /// Functions that no loaded file defines.
    Undefined(&'a Undefined<'a>),
    /// A file, a library with its name, and symbol versions that the file needs but the library does not define. The
    /// newest is last.
    UndefinedVersions(&'a Object, &'a Object, &'a str, Vec<&'a str>),
    /// A file and others whose device code, for these targets, does not run on this GPU.
    NoGpuCode(
        &'a (&'a Path, Vec<Target>),
        &'a [(&'a Path, Vec<Target>)],
        &'a Device,
    ),
    /// Another library that the loader refuses, and the file that needs the library.
    RefusedLibrary(&'a Object, &'a Defect, Option<&'a Object>),
    /// A library that is replaced by an empty file or a dangling link, over which the real one is mounted later.
    MountedLater(&'a Path, &'a Missing),
    /// A missing NVIDIA driver. `true` if the program is inspected in an image.
    NoDriver(&'a Missing, bool),
    NoLibrary(&'a Missing, Vec<FoundFile>, LibrarySource),
    /// A missing DLL. `true` if PATH on the system that runs the program is known.
    NoDll(&'a Missing, bool, Option<&'a Path>),
}

pub enum LibrarySource {
    /// A directory that contains it.
    Directory(String),
    /// The toolkits of these CUDA majors.
    Toolkit(String),
    /// The wheel of the file that needs it, which contains a copy.
    Wheel,
    /// A package of the system.
    Package,
}
