//! Names for one request: its id and its place in a trace (W3C Trace Context, R-057).

/// Makes ids that do not repeat: within a source 2^64 of them, and never those of a source with another seed, node or core,
/// but for a collision of 64 bits. Fast, not secret.
#[derive(Debug, Clone)]
pub struct IdSource {
    prefix: u64,
    counter: u64,
}

impl IdSource {
    /// `seed` is drawn anew at each start of the process, `node` is a hash of the node's name.
    #[must_use]
    pub fn new(seed: u64, node: u64, core: u16) -> Self {
        Self { prefix: mix(seed ^ mix(node)) ^ u64::from(core), counter: mix(seed) }
    }

    /// 128 bits. `mix` is a bijection, so `low` tells apart the ids of one source, and `high` those of two at equal `low`.
    #[inline]
    fn next_pair(&mut self) -> (u64, u64) {
        self.counter = self.counter.wrapping_add(1);
        let low = mix(self.counter);
        (mix(low ^ self.prefix), low)
    }

    #[inline]
    pub fn request_id(&mut self) -> RequestId {
        RequestId(self.next_hex())
    }

    /// 32 hexadecimal digits, not all zero.
    #[inline]
    fn next_hex(&mut self) -> [u8; 32] {
        let (high, low) = self.next_pair();
        let mut text = [0; 32];
        text[..16].copy_from_slice(&hex(high));
        text[16..].copy_from_slice(&hex(low.max(1)));
        text
    }

    /// 16 hexadecimal digits, not all zero.
    #[inline]
    fn next_span(&mut self) -> [u8; 16] {
        hex(self.next_pair().0.max(1))
    }
}

/// The finaliser of splitmix64: a bijection whose outputs look random.
#[inline]
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// Sixteen lower-case hexadecimal digits, the highest first.
#[inline]
fn hex(value: u64) -> [u8; 16] {
    let mut text = [0; 16];
    for (pair, octet) in text.as_chunks_mut::<2>().0.iter_mut().zip(value.to_be_bytes()) {
        *pair = HEX_PAIRS[usize::from(octet)];
    }
    text
}

static HEX_PAIRS: [[u8; 2]; 256] = {
    let mut pairs = [[0; 2]; 256];
    let mut octet = 0;
    while octet < 256 {
        pairs[octet] = [b"0123456789abcdef"[octet >> 4], b"0123456789abcdef"[octet & 15]];
        octet += 1;
    }
    pairs
};

/// A request's id: 128 bits in hexadecimal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestId([u8; 32]);

impl RequestId {
    /// 32 lower-case hexadecimal digits.
    #[must_use]
    pub fn as_octets(&self) -> &[u8; 32] {
        &self.0
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

/// A traceparent value of version 00: `00-<trace id>-<span id>-<flags>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceParent([u8; 55]);

const SAMPLED: u8 = 0b01;

impl TraceParent {
    /// Reads a traceparent value; `None` if it is malformed and must be replaced (W3C Trace Context, 3.2.2). A later version is
    /// read as 00, with what it adds left off; of the flags only `sampled` is kept (3.2.2.5).
    #[must_use]
    pub fn parse(value: &[u8]) -> Option<Self> {
        let (&text, more) = value.split_first_chunk::<55>()?;
        let (version, trace_id, span_id, flags) = (&text[..2], &text[3..35], &text[36..52], &text[53..]);
        let dashes = text[2] == b'-' && text[35] == b'-' && text[52] == b'-';
        let digits = [version, trace_id, span_id, flags].into_iter().all(are_digits);
        let length = more.is_empty() || (version != b"00" && more[0] == b'-');
        if !dashes || !digits || !length || version == b"ff" || is_zero(trace_id) || is_zero(span_id) {
            return None;
        }
        let sampled = digit_value(flags[1]) & SAMPLED != 0;
        let mut parent = Self(text);
        parent.0[..2].copy_from_slice(b"00");
        parent.0[53..].copy_from_slice(if sampled { b"01" } else { b"00" });
        Some(parent)
    }

    /// The root of a new trace.
    #[must_use]
    pub fn root(ids: &mut IdSource, sampled: bool) -> Self {
        let mut root = Self(*b"00-00000000000000000000000000000000-0000000000000000-00");
        root.0[3..35].copy_from_slice(&ids.next_hex());
        root.0[36..52].copy_from_slice(&ids.next_span());
        root.0[54] += u8::from(sampled);
        root
    }

    /// A new span below this one, in the same trace.
    #[must_use]
    #[inline]
    pub fn child(&self, ids: &mut IdSource) -> Self {
        let mut child = *self;
        child.0[36..52].copy_from_slice(&ids.next_span());
        child
    }

    #[must_use]
    pub fn as_octets(&self) -> &[u8; 55] {
        &self.0
    }

    /// 32 lower-case hexadecimal digits, not all zero.
    #[must_use]
    pub fn trace_id(&self) -> &str {
        std::str::from_utf8(&self.0[3..35]).unwrap_or_default()
    }

    /// 16 lower-case hexadecimal digits, not all zero.
    #[must_use]
    pub fn span_id(&self) -> &str {
        std::str::from_utf8(&self.0[36..52]).unwrap_or_default()
    }

    /// Whether the caller may have recorded the trace.
    #[must_use]
    pub fn is_sampled(&self) -> bool {
        digit_value(self.0[54]) & SAMPLED != 0
    }
}

/// Where a request stands in its trace: our own span, and the caller's if it told one.
#[derive(Debug, Clone, Copy)]
pub struct TraceContext {
    parent: Option<TraceParent>,
    current: TraceParent,
}

impl TraceContext {
    /// Continues the trace of an inbound traceparent value; begins one, `sampled` or not, if there is none or it is malformed.
    #[must_use]
    pub fn begin(inbound: Option<&[u8]>, sampled: bool, ids: &mut IdSource) -> Self {
        match inbound.and_then(TraceParent::parse) {
            Some(parent) => Self { parent: Some(parent), current: parent.child(ids) },
            None => Self { parent: None, current: TraceParent::root(ids, sampled) },
        }
    }

    /// Our span, which origins get as their parent.
    #[must_use]
    pub fn current(&self) -> &TraceParent {
        &self.current
    }

    /// The client's span.
    #[must_use]
    pub fn parent(&self) -> Option<&TraceParent> {
        self.parent.as_ref()
    }

    /// Whether the client's tracestate is still true; otherwise it must go (W3C Trace Context, 3.3).
    #[must_use]
    pub fn continues_inbound(&self) -> bool {
        self.parent.is_some()
    }
}

#[inline]
fn are_digits(text: &[u8]) -> bool {
    text.iter()
        .fold(true, |all, &octet| all & (octet.wrapping_sub(b'0') < 10 || octet.wrapping_sub(b'a') < 6))
}

#[inline]
fn is_zero(digits: &[u8]) -> bool {
    digits.iter().fold(0, |any, &octet| any | (octet ^ b'0')) == 0
}

/// The value of a digit that `are_digits` found good.
fn digit_value(digit: u8) -> u8 {
    if digit <= b'9' { digit & 15 } else { digit - b'a' + 10 }
}
