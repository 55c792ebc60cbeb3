//! The layouts: a description of each, and its text for `Layout`.

/// Directories on this machine.
pub const LAYOUTS: &[(&str, &str)] = &[
    ("runpath", "a/libx.so.1; app -> a/libx.so.1 runpath=@/a"),
    ("rpath", "a/libx.so.1; app -> a/libx.so.1 rpath=@/a"),
    (
        "rpath before variable",
        "a/libx.so.1; b/libx.so.1; app -> a/libx.so.1 rpath=@/a; env LD_LIBRARY_PATH=@/b",
    ),
    (
        "variable before runpath",
        "a/libx.so.1; b/libx.so.1; app -> a/libx.so.1 runpath=@/a; env LD_LIBRARY_PATH=@/b",
    ),
    (
        "variable with semicolon",
        "a/libx.so.1; b/libx.so.1; app -> a/libx.so.1; env LD_LIBRARY_PATH=/nowhere:@/b:@/a",
    ),
    ("not on the search path", "a/libx.so.1; app -> a/libx.so.1"),
    (
        "rpath is inherited",
        "a/liby.so.1; b/liby.so.1; a/libx.so.1 -> a/liby.so.1; app -> a/libx.so.1 rpath=@/a",
    ),
    (
        "runpath is not inherited",
        "b/liby.so.1; a/libx.so.1 -> b/liby.so.1; app -> a/libx.so.1 runpath=@/a:@/b",
    ),
    (
        "own rpath first",
        "a/liby.so.1; b/liby.so.1; a/libx.so.1 -> b/liby.so.1 rpath=@/b; app -> a/libx.so.1 rpath=@/a",
    ),
    (
        "own runpath only",
        "a/liby.so.1; b/liby.so.1; a/libx.so.1 -> b/liby.so.1 runpath=@/b; app -> a/libx.so.1 rpath=@/a",
    ),
    (
        "own runpath without the library",
        "a/liby.so.1; a/libx.so.1 -> a/liby.so.1 runpath=@/b; app -> a/libx.so.1 rpath=@/a",
    ),
    (
        "rpath through three levels",
        "a/libz.so.1; b/libz.so.1; m/liby.so.1 -> a/libz.so.1; a/libx.so.1 -> m/liby.so.1 rpath=@/m:@/b; app -> a/libx.so.1 rpath=@/a",
    ),
    (
        "rpath past a runpath",
        "a/libz.so.1; m/liby.so.1 -> a/libz.so.1; a/libx.so.1 -> m/liby.so.1 runpath=@/m; app -> a/libx.so.1 rpath=@/a",
    ),
    (
        "runpath of a dependency is not inherited",
        "m/libz.so.1; m/liby.so.1 -> m/libz.so.1; a/libx.so.1 -> m/liby.so.1 runpath=@/m; app -> a/libx.so.1 runpath=@/a",
    ),
    (
        "origin",
        "bin/../a/libx.so.1; app -> a/libx.so.1 runpath=$ORIGIN/a",
    ),
    (
        "origin in braces",
        "a/libx.so.1; app -> a/libx.so.1 rpath=${ORIGIN}/a",
    ),
    (
        "origin of a library",
        "a/liby.so.1; a/libx.so.1 -> a/liby.so.1 runpath=$ORIGIN; app -> a/libx.so.1 runpath=@/a",
    ),
    (
        "origin through a link",
        "a/liby.so.1; a/libx.so.1 -> a/liby.so.1 runpath=$ORIGIN; link ../a/libx.so.1 b/libx.so.1; b/liby.so.1; app -> a/libx.so.1 runpath=@/b",
    ),
    (
        "origin in the variable",
        "a/libx.so.1; app -> a/libx.so.1; env LD_LIBRARY_PATH=$ORIGIN/a",
    ),
    (
        "names that begin with origin",
        "a/libx.so.1; app -> a/libx.so.1 runpath=$ORIGINAL/a:$ORIGIN_/a:@/a",
    ),
    (
        "lib",
        "a/lib64/libx.so.1; a/lib/x86_64-linux-gnu/libx.so.1; a/lib/libx.so.1; app -> a/lib/libx.so.1 runpath=@/a/$LIB",
    ),
    (
        "lib in braces",
        "a/lib64/libx.so.1; a/lib/x86_64-linux-gnu/libx.so.1; a/lib/libx.so.1; app -> a/lib/libx.so.1 rpath=@/a/${LIB}",
    ),
    (
        "names that begin with lib",
        "a/$LIBRARY/libx.so.1; app -> a/$LIBRARY/libx.so.1 runpath=@/a/$LIBRARY",
    ),
    (
        "lib in the variable",
        "a/lib64/libx.so.1; a/lib/x86_64-linux-gnu/libx.so.1; app -> a/lib64/libx.so.1; env LD_LIBRARY_PATH=@/a/$LIB",
    ),
    (
        "platform",
        "a/x86_64/libx.so.1; app -> a/x86_64/libx.so.1 runpath=@/a/$PLATFORM",
    ),
    (
        "platform of Intel",
        "a/haswell/libx.so.1; app -> a/haswell/libx.so.1 runpath=@/a/$PLATFORM",
    ),
    (
        "empty entry",
        "libx.so.1; app -> libx.so.1 runpath=/nowhere::/nowhere",
    ),
    (
        "empty entry of the variable",
        "libx.so.1; app -> libx.so.1; env LD_LIBRARY_PATH=/nowhere:",
    ),
    (
        "relative entry",
        "a/libx.so.1; app -> a/libx.so.1 runpath=a",
    ),
    ("no soname", "a/libx.so soname=none; app -> a/libx.so"),
    (
        "no soname, from the root",
        "a/libx.so soname=none; app -> @/a/libx.so",
    ),
    (
        "origin in a needed name",
        "a/libx.so.1 soname=$ORIGIN/a/libx.so.1; app -> a/libx.so.1",
    ),
    (
        "one file under two names",
        "a/libx.so.1 soname=none; link libx.so.1 a/libx.so; b/libu.so.1; b/libv.so.1; app -> a/libx.so.1 a/libx.so b/libu.so.1 runpath=@/a:@/b",
    ),
    (
        "found under its soname",
        "a/libx.so.1.2 soname=libx.so.1; link libx.so.1.2 a/libx.so.1; a/liby.so.1 -> a/libx.so.1; app -> a/liby.so.1 a/libx.so.1 runpath=@/a; env LD_LIBRARY_PATH=@/a",
    ),
    (
        "a 32-bit file is skipped",
        "a/libx.so.1; b/libx.so.1; app -> b/libx.so.1 runpath=@/a:@/b; narrow a/libx.so.1",
    ),
    (
        "a file for another CPU is skipped",
        "a/libx.so.1; b/libx.so.1; app -> b/libx.so.1 runpath=@/a:@/b; foreign a/libx.so.1",
    ),
    (
        "hwcaps subdirectory",
        "a/libx.so.1; a/glibc-hwcaps/x86-64-v2/libx.so.1; app -> a/libx.so.1 runpath=@/a",
    ),
    (
        "the best hwcaps subdirectory",
        "a/libx.so.1; a/glibc-hwcaps/x86-64-v2/libx.so.1; a/glibc-hwcaps/x86-64-v3/libx.so.1; a/glibc-hwcaps/x86-64-v4/libx.so.1; app -> a/libx.so.1 runpath=@/a",
    ),
    (
        "hwcaps subdirectory in the variable",
        "a/libx.so.1; b/libx.so.1; b/glibc-hwcaps/x86-64-v3/libx.so.1; app -> a/libx.so.1 runpath=@/a; env LD_LIBRARY_PATH=@/b",
    ),
    (
        "only in a hwcaps subdirectory",
        "a/glibc-hwcaps/x86-64-v2/libx.so.1; b/libx.so.1; app -> b/libx.so.1 runpath=@/a:@/b",
    ),
    (
        "unknown hwcaps level",
        "a/libx.so.1; a/glibc-hwcaps/x86-64-v9/libx.so.1; app -> a/libx.so.1 runpath=@/a",
    ),
    (
        "preloaded by path",
        "a/libx.so.1; b/libx.so.1; app -> a/libx.so.1 runpath=@/a; env LD_PRELOAD=@/b/libx.so.1",
    ),
    (
        "preloaded by name",
        "a/libx.so.1; b/libp.so.1; app -> a/libx.so.1 runpath=@/a; env LD_PRELOAD=libp.so.1; env LD_LIBRARY_PATH=@/b",
    ),
    (
        "preloaded by the program's runpath",
        "a/libx.so.1; a/libp.so.1; app -> a/libx.so.1 runpath=@/a; env LD_PRELOAD=libp.so.1",
    ),
    (
        "two preloaded",
        "a/libx.so.1; b/libp.so.1; b/libq.so.1 -> a/libx.so.1 runpath=@/a; app -> a/libx.so.1 runpath=@/a; env LD_PRELOAD=@/b/libp.so.1:@/b/libq.so.1 /nowhere/libr.so",
    ),
    (
        "preloaded with its dependency",
        "a/libx.so.1; b/libq.so.1; b/libp.so.1 -> b/libq.so.1 runpath=@/b; app -> a/libx.so.1 runpath=@/a; env LD_PRELOAD=@/b/libp.so.1",
    ),
    (
        "preloaded text file",
        "a/libx.so.1; b/libq.so.1; file b/libp.so.1 INPUT(libq.so.1); app -> a/libx.so.1 runpath=@/a; env LD_PRELOAD=@/b/libp.so.1:@/b/libq.so.1",
    ),
    (
        "preloaded for another CPU",
        "a/libx.so.1; b/libp.so.1; app -> a/libx.so.1 runpath=@/a; foreign b/libp.so.1; env LD_PRELOAD=@/b/libp.so.1",
    ),
    (
        "preloaded under two names",
        "a/libx.so.1; b/libp.so.1 soname=none; link libp.so.1 b/libq.so.1; app -> a/libx.so.1 runpath=@/a; env LD_PRELOAD=@/b/libp.so.1:@/b/libq.so.1",
    ),
    (
        "preloaded and needed",
        "a/libx.so.1; a/liby.so.1 -> a/libx.so.1; app -> a/liby.so.1 a/libx.so.1 runpath=@/a; env LD_PRELOAD=libx.so.1; env LD_LIBRARY_PATH=@/a",
    ),
    (
        "breadth first",
        "a/libw.so.1; a/libz.so.1; a/liby.so.1 -> a/libw.so.1; a/libx.so.1 -> a/libz.so.1 a/libw.so.1; app -> a/libx.so.1 a/liby.so.1 rpath=@/a",
    ),
    (
        "without system directories",
        "a/libx.so.1; app -> a/libx.so.1 runpath=@/a -Wl,-z,nodefaultlib",
    ),
    (
        "a library without system directories",
        "a/libx.so.1 -> -lm -Wl,-z,nodefaultlib; app -> a/libx.so.1 runpath=@/a",
    ),
    ("opened", "a/libcudnn.so.9; app! -> runpath=@/a"),
    (
        "opened, with sub-libraries in its runpath",
        "a/libcudnn_graph.so.9; b/libcudnn_graph.so.9; a/libcudnn.so.9 -> runpath=$ORIGIN; app! -> runpath=@/b:@/a",
    ),
    (
        "opened, with sub-libraries in the variable",
        "a/libcudnn_graph.so.9; b/libcudnn_graph.so.9; a/libcudnn.so.9 -> runpath=$ORIGIN; app! -> runpath=@/a; env LD_LIBRARY_PATH=@/b",
    ),
    (
        "opened, with sub-libraries in the program's rpath",
        "a/libcudnn_graph.so.9; b/libcudnn_ops.so.9; a/libcudnn.so.9; app! -> rpath=@/a:@/b",
    ),
    (
        "opened, with a dependency of a sub-library",
        "c/libcublasLt.so.13; a/libcudnn_graph.so.9 -> c/libcublasLt.so.13 runpath=$ORIGIN/../c; a/libcudnn.so.9 -> runpath=$ORIGIN; app! -> runpath=@/a",
    ),
    (
        "opened, and preloaded already",
        "a/libcudnn.so.9; b/libcudnn.so.9; app! -> runpath=@/a; env LD_PRELOAD=@/b/libcudnn.so.9",
    ),
];

/// System images with a cache, a configuration, and symlinks that are resolved inside the image.
pub const SYSTEMS: &[(&str, &str)] = &[
    (
        "preloaded into every program",
        "a/libx.so.1; b/libx.so.1; etc/libp.so.1; app -> a/libx.so.1 runpath=/a; file etc/ld.so.preload /gone.so:/b/libx.so.1 # /a/libx.so.1",
    ),
    ("cached", "a/libx.so.1; app -> a/libx.so.1; conf /a; cached"),
    (
        "first directory of two",
        "a/libx.so.1; b/libx.so.1; app -> a/libx.so.1; conf /b; conf /a; cached",
    ),
    (
        "included",
        "a/libx.so.1; etc/x.d/libz.so.1; app -> a/libx.so.1; conf include x.d/*.conf; conf # /b; file etc/x.d/one.conf /a; cached",
    ),
    (
        "not cached",
        "a/libx.so.1; usr/lib/libx.so.1; app -> a/libx.so.1; cached; conf /a",
    ),
    (
        "cached and removed",
        "a/libx.so.1; usr/lib/libx.so.1; app -> a/libx.so.1; conf /a; cached; gone a/libx.so.1",
    ),
    (
        "runpath before the cache",
        "a/libx.so.1; b/libx.so.1; app -> a/libx.so.1 runpath=/b; conf /a; cached",
    ),
    (
        "the cache before the system",
        "a/libx.so.1; usr/lib/libx.so.1; app -> a/libx.so.1; conf /a; cached",
    ),
    (
        "system directories",
        "lib/libx.so.1; usr/lib/libx.so.1; app -> lib/libx.so.1; cached; gone etc/ld.so.cache",
    ),
    (
        "Debian's own directory",
        "usr/lib/x86_64-linux-gnu/libx.so.1; usr/lib/libx.so.1; app -> usr/lib/libx.so.1; cached; gone etc/ld.so.cache",
    ),
    (
        "directory of another system",
        "usr/lib64/libx.so.1; app -> usr/lib64/libx.so.1; cached; gone etc/ld.so.cache",
    ),
    (
        "links are resolved inside",
        "opt/x/libx.so.1; link /opt/x a; app -> opt/x/libx.so.1 runpath=/a",
    ),
    (
        "linked file",
        "opt/x/libw.so.1; opt/x/libx.so.1 -> opt/x/libw.so.1 runpath=$ORIGIN; a/libw.so.1; link /opt/x/libx.so.1 a/libx.so.1; app -> opt/x/libx.so.1 runpath=/a",
    ),
    (
        "cached, without system directories",
        "a/libx.so.1; usr/lib/liby.so.1; app -> a/libx.so.1 usr/lib/liby.so.1 -Wl,-z,nodefaultlib runpath=/lib/x86_64-linux-gnu; conf /a; cached",
    ),
    (
        "lib of the loader",
        "a/lib64/libx.so.1; a/lib/x86_64-linux-gnu/libx.so.1; app -> a/lib64/libx.so.1 runpath=/a/$LIB",
    ),
    (
        "opened from the cache",
        "a/libcudnn_graph.so.9; b/libcudnn_graph.so.9; a/libcudnn.so.9 -> runpath=$ORIGIN; app!; conf /b; conf /a; cached",
    ),
];
