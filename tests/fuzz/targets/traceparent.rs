//! A traceparent value: what is read is version 00 and reads back as itself; what is continued keeps its
//! trace.

use crate::proto::trace::{IdSource, TraceContext, TraceParent};

pub fn check(value: &[u8]) {
    let mut ids = IdSource::new(1, 2, 3);
    let context = TraceContext::begin(Some(value), false, &mut ids);
    let current = context.current();
    assert_eq!(TraceParent::parse(current.as_octets()).as_ref(), Some(current));
    assert!(current.as_octets().starts_with(b"00-"));
    assert_eq!((current.trace_id().len(), current.span_id().len()), (32, 16));
    match TraceParent::parse(value) {
        Some(parent) => {
            assert_eq!(parent.trace_id().as_bytes(), &value[3..35]);
            assert_eq!(parent.span_id().as_bytes(), &value[36..52]);
            assert_eq!(current.trace_id(), parent.trace_id());
            assert_eq!(current.is_sampled(), parent.is_sampled());
            assert!(value[..55].iter().all(|octet| !octet.is_ascii_uppercase()));
        }
        None => assert!(!context.continues_inbound()),
    }
}
