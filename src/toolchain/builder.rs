//! The CUDA of the system that builds, where the program is for another one: nvcc is a program of that system.

use crate::config::{Config, Link};
use crate::system::Host;
use crate::toolchain::Toolchain;
use crate::toolchain::probe::Needs;

impl Toolchain {
    /// What a build for the system that builds would find, if this is a build for another one.
    pub(crate) fn of_builder(&self) -> Option<Self> {
        let platform = self.host.builder();
        if platform == self.host.platform {
            return None;
        }
        let config = Config {
            target: Some(platform.triple.clone()),
            root: None,
            cudnn: None,
            link: Link::Dynamic,
            ..self.config.clone()
        };
        let host = Host {
            env: self.host.env.clone().for_target(&platform.triple),
            platform,
            root: None,
            answers: self.host.answers.clone(),
        };
        let needs = Needs {
            toolkit: true,
            cudnn: false,
        };
        Some(Self::find(config, host, needs))
    }
}
