//! Single cases: what random schedules meet too rarely, and what a figure is promised for.

use std::task::{Poll, Waker};

use super::super::driver::{Driver, End, Fault, Severed};
use super::super::fake::{Fake, Mood};
use super::super::kernel::{Kind, Wait};
use super::super::slot::Phase;
use super::super::tx::Piece;
use super::waiter::Waiter;
use crate::limits;

fn calm() -> Driver<Fake> {
    Driver::new(Fake::new(1, Mood::CALM), 0, 10_000)
}

/// An accepted stream: its slot and its socket.
fn stream(driver: &mut Driver<Fake>) -> (u32, usize) {
    let (descriptor, socket) = driver.kernel.new_socket();
    driver.kernel.sockets[socket].connected = true;
    (driver.adopt(descriptor), socket)
}

fn turn(driver: &mut Driver<Fake>) -> usize {
    driver.turn(Wait::No).unwrap()
}

fn turns(driver: &mut Driver<Fake>, count: usize) {
    for _ in 0..count {
        turn(driver);
    }
}

/// Reads one buffer's fill.
fn read(driver: &mut Driver<Fake>, slot: u32) -> Option<(u16, u16)> {
    match driver.poll_recv(slot, Waker::noop()) {
        Poll::Ready(received) => received.unwrap(),
        Poll::Pending => None,
    }
}

fn read_all(driver: &mut Driver<Fake>, slot: u32) -> usize {
    let mut octets = 0;
    while let Some((buffer, fill)) = read(driver, slot) {
        driver.give_back(buffer);
        octets += usize::from(fill);
    }
    octets
}

fn is_free(driver: &Driver<Fake>, slot: u32) -> bool {
    driver.slots[slot as usize].phase == Phase::Free
}

#[test]
fn a_completion_from_an_earlier_life_touches_nothing() {
    let mut driver = calm();
    let (first, _) = stream(&mut driver);
    let old = driver.slots[first as usize].generation;
    driver.release(first, End::Finish);
    turns(&mut driver, 5);
    assert!(is_free(&driver, first));

    let (second, socket) = stream(&mut driver);
    turn(&mut driver);
    assert_eq!(second, first);
    driver.kernel.forge(Kind::Recv, first, old, 7);
    driver.kernel.forge(Kind::Send, first, old, -libc::EPIPE);
    turn(&mut driver);
    assert_eq!(driver.stats().stale_completions, 2);
    assert_eq!(driver.stats().buffers_out, 0, "its buffer came home");
    assert!(driver.is_quiet(second));
    driver.kernel.sockets[socket].supply = 3;
    turn(&mut driver);
    assert_eq!(read_all(&mut driver, second), 3);
}

#[test]
fn a_peer_that_drips_octets_is_held_back_by_the_memory_it_costs() {
    let mut driver = calm();
    let (slot, socket) = stream(&mut driver);
    for _ in 0..500 {
        driver.kernel.sockets[socket].supply += 1;
        turn(&mut driver);
    }
    let most = limits::RECV_QUEUE_OCTETS / limits::RECV_BUFFER_OCTETS + 1;
    assert!(driver.buffers.out() <= most, "{} buffers for 500 octets", driver.buffers.out());
    let mut octets = 0;
    for _ in 0..100 {
        octets += read_all(&mut driver, slot);
        turn(&mut driver);
    }
    assert_eq!(octets, 500);
}

#[test]
fn dripped_octets_fill_a_send_queue_by_the_memory_they_cost() {
    let mut driver = calm();
    let ((from, peer), (to, _)) = (stream(&mut driver), stream(&mut driver));
    turn(&mut driver);
    for _ in 0..500 {
        driver.kernel.sockets[peer].supply += 1;
        turn(&mut driver);
        if driver.queued_octets(to) >= limits::SEND_QUEUE_OCTETS {
            break; // here a relay waits for room
        }
        let (buffer, fill) = read(&mut driver, from).unwrap();
        let at = driver.octets(buffer).as_ptr();
        driver.send(to, Piece::Lent { buffer, at, from: 0, to: fill });
    }
    let most = limits::SEND_QUEUE_OCTETS / limits::RECV_BUFFER_OCTETS + 1;
    assert!(driver.buffers.out() <= most, "{} buffers", driver.buffers.out());
    assert!(driver.poll_sent(to, limits::SEND_QUEUE_OCTETS / 2, Waker::noop()).is_pending());
}

#[test]
fn stalled_readers_leave_buffers_for_others() {
    let mut driver = calm();
    driver.kernel.mood.burst = 2;
    for _ in 0..400 {
        let (_, socket) = stream(&mut driver);
        driver.kernel.sockets[socket].supply = 1 << 20;
    }
    turns(&mut driver, 200);
    assert!(driver.buffers.available(), "stalled connections hold all buffers");
    let (slot, socket) = stream(&mut driver);
    driver.kernel.sockets[socket].supply = 100_000;
    let mut octets = 0;
    for _ in 0..100 {
        octets += read_all(&mut driver, slot);
        turn(&mut driver);
    }
    assert_eq!(octets, 100_000);
}

#[test]
fn who_reads_in_time_is_not_held_back() {
    let mut driver = calm();
    let (slot, socket) = stream(&mut driver);
    for _ in 0..50 {
        driver.kernel.sockets[socket].supply += 32 * limits::RECV_BUFFER_OCTETS as u64;
        turn(&mut driver);
        assert_eq!(read_all(&mut driver, slot), 32 * limits::RECV_BUFFER_OCTETS);
    }
    assert_eq!(driver.stats().recv_held_back, 0);
}

#[test]
fn closing_takes_one_cancel_and_one_close() {
    let mut driver = calm();
    let (slot, _) = stream(&mut driver);
    turn(&mut driver);
    let before = driver.kernel.operations;
    driver.release(slot, End::Finish);
    turns(&mut driver, 5);
    assert!(is_free(&driver, slot));
    assert_eq!(driver.kernel.operations - before, 2);
}

#[test]
fn a_cancel_that_misses_is_tried_again() {
    let mut driver = calm();
    let (slot, _) = stream(&mut driver);
    turn(&mut driver);
    driver.kernel.mood.miss = 100;
    driver.release(slot, End::Finish);
    for _ in 0..3 {
        turns(&mut driver, 20);
        let tick = driver.tick + limits::CLOSE_RETRY_TICKS;
        driver.advance(tick);
    }
    let tried = driver.kernel.operations;
    assert!(tried <= 6, "{tried} operations: cancels follow one another without pause");
    assert!(!is_free(&driver, slot));
    driver.kernel.mood.miss = 0;
    turns(&mut driver, 5);
    assert!(is_free(&driver, slot), "{:?}", driver.kernel.left_flying());
}

#[test]
fn out_of_descriptors_accepting_pauses_and_goes_on() {
    let mut driver = calm();
    let (descriptor, socket) = driver.kernel.new_socket();
    let listener = driver.listen(descriptor);
    driver.kernel.sockets[socket].backlog = 3;
    driver.kernel.out_of_descriptors = true;
    turns(&mut driver, 50);
    assert_eq!((driver.stats().accept_pauses, driver.stats().accepted), (1, 0));
    let next = driver.tick + limits::ACCEPT_PAUSE_TICKS;
    driver.advance(next - 1);
    assert_eq!(turn(&mut driver), 0, "paused");
    driver.advance(next);
    turn(&mut driver);
    assert_eq!(driver.stats().accept_pauses, 2, "still out of them");
    driver.kernel.out_of_descriptors = false;
    let next = driver.tick + limits::ACCEPT_PAUSE_TICKS;
    driver.advance(next);
    turn(&mut driver);
    let accepted = (0..4).filter(|_| driver.poll_accept(listener, Waker::noop()).is_ready()).count();
    assert_eq!(accepted, 3);
}

#[test]
fn a_timeout_is_told_once_and_never_early() {
    let mut driver = calm();
    let (slot, _) = stream(&mut driver);
    for ticks in [1, 5, limits::WHEEL_TICKS - 1, limits::WHEEL_TICKS, 3 * limits::WHEEL_TICKS + 7] {
        let due = driver.tick + ticks;
        driver.set_deadline(slot, due);
        for tick in driver.tick..due {
            driver.advance(tick);
            assert_eq!(driver.poll_recv(slot, Waker::noop()), Poll::Pending, "{tick} is before {due}");
        }
        driver.advance(due);
        assert_eq!(driver.poll_recv(slot, Waker::noop()), Poll::Ready(Err(Fault::TimedOut)));
        assert_eq!(driver.poll_recv(slot, Waker::noop()), Poll::Pending);
    }
}

#[test]
fn a_stream_that_is_not_received_from_is_not_quiet() {
    let mut driver = calm();
    let (slot, _) = stream(&mut driver);
    assert!(driver.is_quiet(slot));
    driver.kernel.sockets[0].peer_fin = true;
    turn(&mut driver);
    assert!(!driver.is_quiet(slot), "FIN has come");
    while driver.buffers.hog().is_some() {}
    let (slot, _) = stream(&mut driver);
    turn(&mut driver);
    assert!(!driver.is_quiet(slot), "nobody knows");
}

fn send(driver: &mut Driver<Fake>, slot: u32, octets: usize) {
    driver.send(slot, Piece::Owned { octets: vec![b'x'; octets], from: 0 });
}

#[test]
fn a_send_that_nobody_waits_for_completes_only_if_it_is_cut() {
    let mut driver = calm();
    let (slot, socket) = stream(&mut driver);
    turn(&mut driver);
    driver.kernel.sockets[socket].window = 1_000;
    send(&mut driver, slot, 900);
    assert_eq!(turn(&mut driver), 0, "a completion, of a send that was taken whole");
    assert_eq!((driver.kernel.sockets[socket].taken_total, driver.queued_octets(slot)), (900, 0));

    send(&mut driver, slot, 900);
    assert_eq!(turn(&mut driver), 1, "a short send must tell");
    assert!(driver.queued_octets(slot) > 0);
    driver.kernel.sockets[socket].window = 1_000;
    turns(&mut driver, 2);
    assert_eq!((driver.kernel.sockets[socket].taken_total, driver.queued_octets(slot)), (1_800, 0));
}

#[test]
fn whoever_waits_for_a_send_gets_its_completion() {
    let mut driver = calm();
    let (slot, socket) = stream(&mut driver);
    turn(&mut driver);
    driver.kernel.sockets[socket].window = 10_000;
    send(&mut driver, slot, 900);
    assert!(driver.poll_sent(slot, 0, Waker::noop()).is_pending());
    assert_eq!(turn(&mut driver), 1, "waited for");

    send(&mut driver, slot, 900);
    driver.finish_sending(slot);
    assert_eq!(turn(&mut driver), 1, "FIN follows it");

    let (slot, socket) = stream(&mut driver);
    turn(&mut driver);
    driver.kernel.sockets[socket].window = 10_000;
    (0..=limits::SEND_PIECES_MAX).for_each(|_| send(&mut driver, slot, 9));
    assert!(turn(&mut driver) >= 1, "the rest of the queue follows it");
}

/// Whatever a stream's owner waits for: it is woken, each wait ends, and what was queued does not go out.
#[test]
fn a_severed_stream_ends_every_wait() {
    let mut driver = calm();
    let (slot, _) = stream(&mut driver);
    let waiter = Waiter::new(());
    let waker = waiter.waker();
    assert!(driver.poll_recv(slot, &waker).is_pending());
    assert!(!driver.is_severed(slot));
    let life = driver.life(slot);
    assert_eq!(driver.sever(slot, life), Severed::Owned);
    assert!(waiter.is_woken() && driver.is_severed(slot));
    assert_eq!(driver.poll_recv(slot, &waker), Poll::Ready(Err(Fault::SEVERED)));
    assert_eq!(driver.poll_idle(slot, &waker), Poll::Ready(Err(Fault::SEVERED)));
    assert_eq!(driver.poll_broken(slot, &waker), Poll::Ready(Fault::SEVERED));
    driver.release(slot, End::Finish);
    turns(&mut driver, 5);
    assert!(is_free(&driver, slot));
    // Its place is another's, who is not severed.
    let (next, _) = stream(&mut driver);
    assert_eq!(driver.sever(slot, life), Severed::Nothing);
    assert_eq!((next, driver.is_severed(next)), (slot, false));
}

/// What its owner has left behind goes no further, and does not look whole.
#[test]
fn what_is_left_to_send_is_severed_too() {
    let mut driver = calm();
    let (slot, socket) = stream(&mut driver);
    turn(&mut driver);
    driver.kernel.sockets[socket].window = 100;
    send(&mut driver, slot, 900);
    turns(&mut driver, 2);
    driver.release(slot, End::Finish);
    turns(&mut driver, 2);
    assert_eq!(driver.slots[slot as usize].phase, Phase::Finishing);
    let life = driver.life(slot);
    assert_eq!(driver.sever(slot, life), Severed::Left);
    driver.kernel.sockets[socket].window = 1_000;
    turns(&mut driver, 5);
    assert!(is_free(&driver, slot));
    assert_eq!(driver.kernel.sockets[socket].taken_total, 100);
    assert_eq!(driver.sever(slot, life), Severed::Nothing);
}
