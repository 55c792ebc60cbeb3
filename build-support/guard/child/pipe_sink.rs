//! The way from the work to whoever asked for it: lines, each out at once, so that what was told before a crash is known.

/// Where the lines go.
pub struct PipeSink<'a> {
    to: &'a (dyn Fn(&str) + Sync),
}

impl<'a> PipeSink<'a> {
    /// Every line goes to this.
    pub fn to(to: &'a (dyn Fn(&str) + Sync)) -> Self {
        Self { to }
    }

    /// Sends one line, which holds no line break.
    pub fn line(&self, text: &str) {
        (self.to)(text);
    }
}
