//! The options for optimization and debug information, from the build script or else from cargo's profile.

use crate::model::Environment;

/// The build script's options. Default: cargo's profile.
#[derive(Clone, Copy, Debug, Default)]
pub struct Optimisation {
    /// The optimization level of host code, 0 to 3.
    pub level: Option<u8>,
    /// `-g` for host code.
    pub debug: Option<bool>,
    pub lineinfo: Option<bool>,
}

impl Optimisation {
    /// Returns nvcc's arguments that are not in `given` yet. Device code is also optimized in debug builds, unless `-G`
    /// is given.
    pub fn flags(self, given: &[String], profile: &Environment) -> Vec<String> {
        let is_given = |names: &[&str]| {
            let named = |flag: &String| {
                let name = flag.split_once('=').map_or(&**flag, |(name, _)| name);
                names.contains(&name)
            };
            given.iter().any(named)
        };
        let mut has_level = is_given(&["--optimize", "-optimize"]);
        let mut before = "";
        for flag in given {
            // The argument of `-Xptxas` is for device code.
            let is_for_ptxas = ["-Xptxas", "--ptxas-options"].contains(&before);
            has_level |= flag.starts_with("-O") && !is_for_ptxas;
            before = flag;
        }
        let is_settled = has_level || self.level.is_some();
        let is_debug = !matches!(profile.var("DEBUG"), None | Some("false" | "0" | "none"));
        let by_profile = is_debug && !is_settled;
        let for_debugger = is_given(&["-G", "--device-debug", "-device-debug"]);

        let mut flags = Vec::new();
        if !has_level {
            let level = self.level.map(|level| level.to_string());
            let level = match level.as_deref().or(profile.var("OPT_LEVEL")) {
                Some(level @ ("0" | "1" | "2" | "3")) => level,
                Some("s" | "z") => "2",
                _ => "3",
            };
            flags.push(format!("-O{level}"));
        }
        if self.debug.unwrap_or(by_profile) && !is_given(&["-g", "--debug", "-debug"]) {
            flags.push("-g".to_string());
        }
        let line_info = ["-lineinfo", "--generate-line-info", "-generate-line-info"];
        if self.lineinfo.unwrap_or(by_profile) && !for_debugger && !is_given(&line_info) {
            flags.push("-lineinfo".to_string());
        }
        flags
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(options: Optimisation, given: &str, profile: &[(&str, &str)]) -> String {
        let given: Vec<String> = given.split_whitespace().map(String::from).collect();
        let profile = profile.iter();
        let profile = profile.map(|(name, value)| (name.to_string(), value.into()));
        options.flags(&given, &Environment::new(profile)).join(" ")
    }

    #[test]
    fn cargos_profile_is_the_default() {
        let debug = [("OPT_LEVEL", "0"), ("DEBUG", "true")];
        let nothing = Optimisation::default();
        for (given, expected) in [
            ("", "-O0 -g -lineinfo"),
            ("-std=c++17 -DN", "-O0 -g -lineinfo"),
            ("-O3", ""),
            ("-O 3", ""),
            ("--optimize=2", ""),
            ("-g", "-O0 -lineinfo"),
            ("-lineinfo", "-O0 -g"),
            ("-G", "-O0 -g"),
            ("-O3 -lineinfo", ""),
            ("-Xptxas -O3", "-O0 -g -lineinfo"),
        ] {
            assert_eq!(flags(nothing, given, &debug), expected, "{given:?}");
        }
        for (level, expected) in [("s", "-O2"), ("z", "-O2"), ("1", "-O1"), ("3", "-O3")] {
            assert_eq!(flags(nothing, "", &[("OPT_LEVEL", level)]), expected);
        }
        assert_eq!(flags(nothing, "", &[]), "-O3");
    }

    #[test]
    fn the_build_script_takes_precedence() {
        let debug = [("OPT_LEVEL", "0"), ("DEBUG", "true")];
        let level = |level| Optimisation {
            level: Some(level),
            ..Optimisation::default()
        };
        assert_eq!(flags(level(2), "", &debug), "-O2");
        assert_eq!(flags(level(2), "-O3", &debug), "");
        let lines = Optimisation {
            lineinfo: Some(true),
            ..level(3)
        };
        assert_eq!(flags(lines, "", &debug), "-O3 -lineinfo");
        assert_eq!(flags(lines, "-lineinfo", &debug), "-O3");
        let plain = Optimisation {
            debug: Some(false),
            ..Optimisation::default()
        };
        assert_eq!(flags(plain, "", &debug), "-O0 -lineinfo");
        let debugged = Optimisation {
            debug: Some(true),
            ..Optimisation::default()
        };
        assert_eq!(flags(debugged, "-O3", &[]), "-g");
        assert_eq!(flags(debugged, "-O3 -g", &[]), "");
    }
}
