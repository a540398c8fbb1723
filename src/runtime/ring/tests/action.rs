//! What the driver's owner, its peers and time may do, in any order.

use proptest::prelude::*;

/// One step of a schedule. Numbers pick among what is there, modulo its count; with nothing there the step is void.
#[derive(Clone, Copy, Debug)]
pub(super) enum Action {
    // The owner.
    Listen,
    StopListening(u8),
    Accept(u8),
    Connect,
    AwaitConnected(u8),
    Recv(u8, Use),
    Idle(u8),
    Broken(u8),
    Send(u8, u32),
    Sent(u8, Left),
    FinishSending(u8),
    GiveBack(u8),
    SetDeadline(u8, u16),
    ClearDeadline(u8),
    Release(u8, bool),
    HastenIdle(u16),
    AwaitBell,
    // The peers.
    PeerConnects(u8, u8),
    PeerSends(u8, u32),
    PeerTakes(u8, u32),
    PeerFinishes(u8),
    PeerResets(u8),
    Ring,
    // The rest of the core: leaves so many buffers.
    Hog(u16),
    Unhog,
    // Time.
    Turn(u8),
    Advance(u16),
}

/// What the owner does with a received buffer.
#[derive(Clone, Copy, Debug)]
pub(super) enum Use {
    GiveBack,
    Hold,
    /// Passes part of it on to a stream.
    Forward(u8, u8),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Left {
    None,
    Some(u32),
}

fn octets() -> impl Strategy<Value = u32> {
    prop_oneof![3 => 1u32..10, 4 => 10u32..10_000, 2 => 10_000u32..60_000, 1 => 60_000u32..400_000]
}

fn using() -> impl Strategy<Value = Use> {
    prop_oneof![
        3 => Just(Use::GiveBack),
        1 => Just(Use::Hold),
        3 => (any::<u8>(), any::<u8>()).prop_map(|(to, cut)| Use::Forward(to, cut)),
    ]
}

pub(super) fn action() -> impl Strategy<Value = Action> {
    use Action::*;
    let n = any::<u8>;
    let left = prop_oneof![2 => Just(Left::None), 1 => (0u32..100_000).prop_map(Left::Some)];
    let owner = prop_oneof![
        2 => Just(Listen),
        1 => n().prop_map(StopListening),
        8 => n().prop_map(Accept),
        3 => Just(Connect),
        4 => n().prop_map(AwaitConnected),
        30 => (n(), using()).prop_map(|(pick, using)| Recv(pick, using)),
        4 => n().prop_map(Idle),
        2 => n().prop_map(Broken),
        14 => (n(), octets()).prop_map(|(pick, octets)| Send(pick, octets.min(100_000))),
        10 => (n(), left).prop_map(|(pick, left)| Sent(pick, left)),
        2 => n().prop_map(FinishSending),
        5 => n().prop_map(GiveBack),
        3 => (n(), 0u16..3000).prop_map(|(pick, ticks)| SetDeadline(pick, ticks)),
        1 => n().prop_map(ClearDeadline),
        4 => (n(), any::<bool>()).prop_map(|(pick, reset)| Release(pick, reset)),
    ];
    let rare = prop_oneof![
        (0u16..3000).prop_map(HastenIdle),
        Just(AwaitBell),
        Just(Ring),
        prop_oneof![0u16..60, 1900u16..2300].prop_map(Hog),
        Just(Unhog),
    ];
    let peers = prop_oneof![
        6 => (n(), 1u8..5).prop_map(|(pick, count)| PeerConnects(pick, count)),
        20 => (n(), octets()).prop_map(|(pick, octets)| PeerSends(pick, octets)),
        14 => (n(), octets()).prop_map(|(pick, octets)| PeerTakes(pick, octets)),
        2 => n().prop_map(PeerFinishes),
        1 => n().prop_map(PeerResets),
    ];
    let time = prop_oneof![
        10 => (1u8..4).prop_map(Turn),
        1 => prop_oneof![1u16..5, 5u16..600, 600u16..2500].prop_map(Advance),
    ];
    prop_oneof![40 => owner, 20 => peers, 3 => rare, 25 => time]
}
