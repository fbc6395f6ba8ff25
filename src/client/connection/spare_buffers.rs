//! Buffers that bodies of one connection reuse.

/// Maximum capacity in bytes of a buffer that is reused.
const SPARE: usize = 16 << 20;

/// Buffers for reuse by the next body.
#[derive(Debug, Default)]
pub(crate) struct SpareBuffers {
    pub(crate) packed: Vec<u8>,
    pub(crate) body: Vec<u8>,
}

impl SpareBuffers {
    /// Removes the compressed bytes and frees large buffers. Decompressed bytes stay in their buffer, because
    /// overwriting them is cheaper than zeroing memory.
    pub(crate) fn cleared(mut self) -> Self {
        self.packed.clear();
        for buffer in [&mut self.packed, &mut self.body] {
            if buffer.capacity() > SPARE {
                *buffer = Vec::new();
            }
        }
        self
    }
}
