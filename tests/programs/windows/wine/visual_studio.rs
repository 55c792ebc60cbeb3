//! A Visual Studio with the files that a build reads.

use super::windows::Windows;
use crate::support::write_if_new;
use std::fs;
use std::path::PathBuf;

/// A `cl.exe` that answers every query, and logs the variables it was started with.
const CL: &str = r##"
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    FILE *log = fopen("C:\\cl.log", "ab");
    fprintf(log, "LIB=%s\nINCLUDE=%s\n", getenv("LIB"), getenv("INCLUDE"));
    fputs("Microsoft (R) C/C++ Optimizing Compiler Version 19.44.35207 for x64\n", stderr);
    puts("__NV_CPLUSPLUS 199711L\n__NV_MSC_VER 1944\n__NV_MSC_FULL_VER 194435207");
    puts("#line 1 \"C:\\\\CUDA\\\\include\\\\crt/host_config.h\"\ncudnn_guard_msvc 1944\ncudnn_guard_end");
    return 0;
}
"##;
/// A `vswhere.exe`, which prints the location of Visual Studio.
const VSWHERE: &str = r#"
#include <stdio.h>
int main(void) {
    puts("installationName: VisualStudio/17.14.0+36109.1\ninstallationPath: C:\\VS\ninstallationVersion: 17.14.36109.1");
    return 0;
}
"#;

/// Returns the path of `vswhere.exe`.
pub fn vswhere(windows: &Windows) -> PathBuf {
    let installer = "Program Files (x86)/Microsoft Visual Studio/Installer";
    windows.drive().join(installer).join("vswhere.exe")
}

/// Installs the files of Visual Studio that a build reads.
pub fn install(windows: &Windows) {
    let (drive, kits) = (
        windows.drive(),
        windows.drive().join("Kits/10/lib/10.0.22621.0"),
    );
    let cl = "VS/VC/Tools/MSVC/14.44.35207/bin/HostX64/x64/cl.exe";
    windows.compile("cl", CL, &drive.join(cl), &[]);
    windows.compile("vswhere", VSWHERE, &vswhere(windows), &[]);
    let scripts = drive.join("VS/VC/Auxiliary/Build");
    for dir in [&kits.join("ucrt"), &kits.join("um/x64"), &scripts] {
        fs::create_dir_all(dir).unwrap();
    }
    write_if_new(&kits.join("um/x64/kernel32.lib"), "");
    let version = scripts.join("Microsoft.VCToolsVersion.default.txt");
    write_if_new(&version, "14.44.35207\r\n");
    let script = "@echo off\r\necho vcvars64.bat>>C:\\cl.log\r\n";
    for name in ["vcvars64.bat", "vcvarsall.bat"] {
        write_if_new(&scripts.join(name), script);
    }
    for (key, name) in [
        (r"Windows Kits\Installed Roots", "KitsRoot10"),
        (r"Microsoft SDKs\Windows\v10.0", "InstallationFolder"),
    ] {
        // 32-bit programs have a separate registry, which `cc` reads.
        for view in ["", r"WOW6432Node\"] {
            let key = format!(r"HKLM\SOFTWARE\{view}Microsoft\{key}");
            let value = ["/v", name, "/d", r"C:\Kits\10\", "/f"];
            windows
                .start("reg", &[&["add", &key][..], &value].concat(), &[])
                .exits_with(0);
        }
    }
}
