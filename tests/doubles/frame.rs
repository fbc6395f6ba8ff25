//! Events in the frames a venue sends them in.

use std::fmt;
use std::sync::{Arc, Mutex};

use tokio_tungstenite::tungstenite::Bytes;

use super::fault::Faults;
use super::inner::Inner;
use super::truth::Truth;
use super::twist::twisted;

/// Events that share a frame, and the frame on each subscribed topic.
pub struct Frame {
    pub truths: Vec<Truth>,
    pub topics: Arc<[String]>,
    pub bytes: Mutex<Vec<(String, Bytes)>>,
}

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Frame of {} events", self.truths.len())
    }
}

impl Frame {
    /// The frame on a topic, as bytes for the wire.
    pub fn rendered(&self, topic: &str, faults: &Faults, inner: &Inner) -> Bytes {
        if faults.new_field || faults.removed_field.is_some() {
            return self.render(topic, faults, inner);
        }
        let mut bytes = self.bytes.lock().unwrap();
        if let Some((_, bytes)) = bytes.iter().find(|(name, _)| name == topic) {
            return bytes.clone();
        }
        let fresh = self.render(topic, faults, inner);
        bytes.push((topic.to_owned(), fresh.clone()));
        fresh
    }

    fn render(&self, topic: &str, faults: &Faults, inner: &Inner) -> Bytes {
        let texts = inner.dialect.render(topic, &self.truths, &inner.book);
        let mut bytes = Vec::new();
        for text in texts {
            bytes.extend_from_slice(&inner.dialect.wrap(&twisted(text, faults)));
        }
        bytes.into()
    }
}

/// Frames that are rendered before they are sent.
#[derive(Clone, Debug, Default)]
pub struct Prepared {
    pub frames: Vec<Arc<Frame>>,
}

impl Prepared {
    pub fn truths(&self) -> Vec<Truth> {
        self.frames
            .iter()
            .flat_map(|frame| frame.truths.iter().cloned())
            .collect()
    }
}
