use super::*;
use proptest::prelude::*;

fn name(text: &str) -> HostName {
    HostName::parse(text).unwrap()
}

fn service(n: usize) -> ServiceId {
    ServiceId::parse(&format!("svc_{n}")).unwrap()
}

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Each name with its services.
fn wanted(names: &[(&str, &[usize])]) -> Wanted {
    let services = |numbers: &[usize]| numbers.iter().map(|n| service(*n)).collect();
    names.iter().map(|(text, numbers)| (name(text), services(numbers))).collect()
}

fn wanting(names: &[(&str, &[usize])]) -> Plan {
    let mut plan = Plan::new();
    plan.want(&wanted(names), ms(0));
    plan
}

fn ips(texts: &[&str]) -> Vec<IpAddr> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn counts(plan: &Plan) -> (usize, usize, usize) {
    let Counts { names, failing, due } = plan.counts();
    (names, failing, due)
}

#[test]
fn a_name_is_asked_for_again_when_its_time_is_over() {
    let (mut plan, a) = (wanting(&[("a.test", &[1])]), name("a.test"));
    assert_eq!((plan.due(ms(0)), plan.due(ms(0))), (vec![a.clone()], vec![]));
    assert!(plan.next().is_none());
    assert_eq!(plan.answered(&a, ips(&["10.0.0.2", "10.0.0.1"]), ms(5_000), ms(100)), Outcome::Changed);
    assert_eq!(plan.known()[&a], ips(&["10.0.0.1", "10.0.0.2"]));
    assert_eq!(plan.next(), Some(ms(5_100)));
    assert_eq!((plan.due(ms(5_099)), plan.due(ms(5_100))), (vec![], vec![a.clone()]));
    // Another order is nothing new; a day is too long, and no time at all too short.
    let other_order = ips(&["10.0.0.1", "10.0.0.2"]);
    assert_eq!(plan.answered(&a, other_order, ms(86_400_000), ms(6_000)), Outcome::Same);
    assert_eq!(plan.next(), Some(ms(6_000) + MOST));
    assert_eq!(plan.due(ms(6_000) + MOST), vec![a.clone()]);
    plan.answered(&a, ips(&["10.0.0.1"]), ms(0), ms(400_000));
    assert_eq!(plan.next(), Some(ms(400_000) + LEAST));
}

#[test]
fn what_is_known_outlives_failures() {
    let (mut plan, a) = (wanting(&[("a.test", &[1])]), name("a.test"));
    plan.due(ms(0));
    assert_eq!(plan.failed(&a, ms(0)), Outcome::Failing);
    assert!(plan.known().is_empty());
    plan.due(ms(1_000));
    plan.answered(&a, ips(&["10.0.0.1"]), ms(1_000), ms(1_000));
    let mut now = ms(2_000);
    for (nth, wait) in [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000].into_iter().enumerate() {
        assert_eq!(plan.due(now), vec![a.clone()]);
        let outcome = if nth % 2 == 0 { plan.failed(&a, now) } else { plan.answered(&a, vec![], ms(9), now) };
        assert_eq!(outcome, if nth == 0 { Outcome::Failing } else { Outcome::Same });
        assert_eq!(plan.next(), Some(now + ms(wait)));
        now += ms(wait);
    }
    assert_eq!((plan.known()[&a].len(), counts(&plan)), (1, (1, 1, 0)));
    plan.due(now);
    assert_eq!(plan.answered(&a, ips(&["10.0.0.1"]), ms(1_000), now), Outcome::Same);
    assert_eq!(counts(&plan), (1, 0, 0));
}

#[test]
fn addresses_of_nobody_are_left_out() {
    let (mut plan, a) = (wanting(&[("a.test", &[1])]), name("a.test"));
    let all = ["0.0.0.0", "::", "224.0.0.1", "ff02::1", "255.255.255.255", "100::1", "::ffff:0.0.0.0", "::1"];
    plan.due(ms(0));
    plan.answered(&a, ips(&all), ms(1_000), ms(0));
    assert_eq!(plan.known()[&a], ips(&["::1"]));
}

#[test]
fn those_not_wanted_are_forgotten_wherever_they_are() {
    let many: Vec<String> = (0..40).map(|n| format!("n{n}.test")).collect();
    let names: Vec<(&str, &[usize])> = many.iter().map(|name| (name.as_str(), &[1][..])).collect();
    let mut plan = wanting(&names);
    let asked = plan.due(ms(0));
    assert_eq!(
        (asked.len(), counts(&plan)),
        (12, (40, 0, 28)),
        "half of the slots of those that do not fail"
    );
    plan.answered(&asked[0], ips(&["10.0.0.1"]), ms(1_000), ms(0));
    plan.failed(&asked[1], ms(0));
    // What is known stays, what is under way is given up, and its slot is free.
    let new = plan.want(&wanted(&[(asked[0].as_str(), &[2]), ("d.test", &[2])]), ms(0));
    assert_eq!(new, [name("d.test")].into());
    assert_eq!(counts(&plan), (2, 0, 0));
    assert_eq!(plan.answered(&asked[2], ips(&["10.0.0.1"]), ms(1_000), ms(0)), Outcome::Same);
    assert_eq!(plan.known().into_keys().collect::<Vec<_>>(), [asked[0].clone()]);
    assert_eq!((plan.due(ms(0)), plan.due(ms(1_000))), (vec![name("d.test")], vec![asked[0].clone()]));
    plan.want(&Wanted::new(), ms(0));
    assert_eq!((counts(&plan), plan.next()), ((0, 0, 0), None));
}

#[test]
fn a_name_of_two_services_is_asked_for_once_in_either_ones_turn() {
    let bad: Vec<String> = (0..30).map(|n| format!("bad{n}.test")).collect();
    let mut names: Vec<(&str, &[usize])> = bad.iter().map(|name| (name.as_str(), &[1][..])).collect();
    names.push(("zoo.test", &[1]));
    let mut plan = wanting(&names);
    assert!(!plan.due(ms(0)).contains(&name("zoo.test")));
    // It waits behind the others until another service has it, too.
    names.pop();
    names.push(("zoo.test", &[1, 2]));
    plan.want(&wanted(&names), ms(5));
    assert_eq!((plan.due(ms(5)), plan.due(ms(5))), (vec![name("zoo.test")], vec![]));
    // The one in whose turn it is leaves while it is under way.
    names.pop();
    names.push(("zoo.test", &[1]));
    plan.want(&wanted(&names), ms(6));
    plan.answered(&name("zoo.test"), ips(&["10.0.0.1"]), ms(1_000), ms(7));
    assert_eq!(plan.next(), Some(ms(1_007)));
}

/// How a name is answered.
#[derive(Clone, Copy, Debug)]
enum Server {
    /// Within so many milliseconds, for as many.
    Answers(u64, u64),
    /// Within so many milliseconds, that there is no such name.
    Refuses(u64),
    Silent,
    /// At once, and then not, in turns.
    Alternates,
}

/// How long the look-up takes, and for how long the answer holds if it is one.
fn outcome(server: Server, nth: u32) -> (Duration, Option<Duration>) {
    let longest = ms(limits::LOOKUP_MS);
    match server {
        Server::Answers(after, ttl) => (ms(after), Some(ms(ttl))),
        Server::Refuses(after) => (ms(after), None),
        Server::Alternates if nth.is_multiple_of(2) => (ms(1), Some(ms(0))),
        Server::Silent | Server::Alternates => (longest, None),
    }
}

fn server() -> impl Strategy<Value = Server> {
    prop_oneof![
        3 => (1u64..100, 0u64..10_000).prop_map(|(after, ttl)| Server::Answers(after, ttl)),
        1 => (4_000..limits::LOOKUP_MS).prop_map(|after| Server::Answers(after, 0)),
        1 => (1..50u64).prop_map(Server::Refuses),
        3 => Just(Server::Silent),
        1 => Just(Server::Alternates),
    ]
}

/// A plain model of the plan, over servers that are simulated.
struct Model {
    plan: Plan,
    names: BTreeMap<HostName, Modelled>,
    /// For each service and kind, since when it has had something due and nothing under way.
    starved: BTreeMap<(usize, bool), Duration>,
    services: usize,
    now: Duration,
}

struct Modelled {
    services: BTreeSet<usize>,
    server: Server,
    asked: u32,
    failures: u32,
    /// Or since when it has been due.
    next: Duration,
    /// When the look-up that is under way ends, and how.
    ends: Option<(Duration, Option<Duration>)>,
}

impl Modelled {
    fn is(&self, service: usize, fails: bool) -> bool {
        self.services.contains(&service) && (self.failures > 0) == fails
    }
}

fn slots(fails: bool) -> usize {
    if fails { limits::LOOKUPS_FAILING } else { limits::LOOKUPS_AT_A_TIME - limits::LOOKUPS_FAILING }
}

impl Model {
    fn new(services: usize) -> Model {
        let (names, starved) = (BTreeMap::new(), BTreeMap::new());
        Model { plan: Plan::new(), names, starved, services, now: ms(0) }
    }

    fn want(&mut self, wanted: &BTreeMap<HostName, (BTreeSet<usize>, Server)>) {
        self.names.retain(|name, _| wanted.contains_key(name));
        for (name, (services, server)) in wanted {
            let (services, server, next) = (services.clone(), *server, self.now);
            let modelled = self.names.entry(name.clone()).or_insert_with(|| Modelled {
                services: BTreeSet::new(),
                server,
                asked: 0,
                failures: 0,
                next,
                ends: None,
            });
            modelled.services = services;
        }
        self.starved.clear();
        let names = self.names.iter();
        let wanted =
            names.map(|(name, it)| (name.clone(), it.services.iter().map(|n| service(*n)).collect()));
        self.plan.want(&wanted.collect(), self.now);
    }

    /// Goes on to `end`, checking every step.
    fn run(&mut self, end: Duration) {
        loop {
            self.step();
            let ends = self.names.values().filter_map(|it| it.ends.map(|(at, _)| at)).min();
            let Some(next) = [self.plan.next(), ends].into_iter().flatten().min() else { return };
            if next > end {
                self.now = end;
                return;
            }
            self.now = next;
        }
    }

    fn step(&mut self) {
        let now = self.now;
        for (name, it) in &mut self.names {
            let Some((_, answer)) = it.ends.take_if(|(at, _)| *at <= now) else { continue };
            if let Some(ttl) = answer {
                self.plan.answered(name, ips(&["10.0.0.1"]), ttl, now);
                (it.failures, it.next) = (0, now + ttl.clamp(LEAST, MOST));
            } else {
                self.plan.failed(name, now);
                it.next = now + LEAST.saturating_mul(1 << it.failures).min(RETRY_MOST);
                it.failures += 1;
            }
        }
        for name in self.plan.due(now) {
            self.is_the_oldest(&name);
            let it = self.names.get_mut(&name).expect("only what is wanted is asked for");
            assert!(it.ends.is_none() && it.next <= now, "{name} is asked for before its time");
            let (takes, answer) = outcome(it.server, it.asked);
            it.ends = Some((now + takes, answer));
            it.asked += 1;
        }
        for fails in [false, true] {
            let under_way = self.names.values().filter(|it| it.ends.is_some() && (it.failures > 0) == fails);
            assert!(under_way.count() <= slots(fails));
            (0..self.services).for_each(|service| self.is_served(service, fails));
        }
    }

    /// No name of one of its services has been due longer.
    fn is_the_oldest(&self, name: &HostName) {
        let asked = &self.names[name];
        let is_first = |service: &usize| {
            let of_service = self.names.values().filter(|it| it.is(*service, asked.failures > 0));
            of_service.filter(|it| it.ends.is_none()).all(|it| it.next >= asked.next)
        };
        assert!(asked.services.iter().any(is_first), "{name} was asked for before older ones");
    }

    /// A service that has names due and none under way waits no longer than the bound, however many names others have.
    fn is_served(&mut self, service: usize, fails: bool) {
        let mut its = self.names.values().filter(|it| it.is(service, fails));
        let is_starved = its.clone().all(|it| it.ends.is_none()) && its.any(|it| it.next <= self.now);
        if !is_starved {
            self.starved.remove(&(service, fails));
            return;
        }
        let since = *self.starved.entry((service, fails)).or_insert(self.now);
        let bound = ms(limits::LOOKUP_MS * self.services.div_ceil(slots(fails)) as u64);
        assert!(self.now - since <= bound, "service {service} has waited since {since:?} at {:?}", self.now);
    }
}

/// Many names, each with how it is answered and a first letter.
fn names_of_one() -> impl Strategy<Value = Vec<(Server, char)>> {
    prop::collection::vec((server(), prop::char::range('a', 'z')), 0..200)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Whatever is answered, fails or is silent, and whatever reloads bring and take: names are asked for when they are due,
    /// the oldest first, and no service waits for the names of others longer than the bound.
    #[test]
    fn no_service_waits_for_the_names_of_another(
        flood in names_of_one(),
        others in prop::collection::vec(prop::collection::vec(server(), 1..4), 1..30),
        shared in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..10),
        reload in (any::<prop::sample::Index>(), 0u64..20_000),
    ) {
        let mut all = BTreeMap::new();
        for (nth, (server, letter)) in flood.iter().enumerate() {
            all.insert(name(&format!("{letter}{nth}.flood.test")), (BTreeSet::from([0]), *server));
        }
        for (service, servers) in others.iter().enumerate() {
            for (nth, server) in servers.iter().enumerate() {
                all.insert(name(&format!("m{nth}.s{service}.test")), (BTreeSet::from([service + 1]), *server));
            }
        }
        let every: Vec<HostName> = all.keys().cloned().collect();
        for (which, with) in shared {
            let of = all.get_mut(which.get(&every)).unwrap();
            of.0.insert(with.index(others.len() + 1));
        }
        let mut model = Model::new(others.len() + 1);
        // Part of them is there at the start; the reload brings all, and the last takes some.
        let part = all.iter().skip(reload.0.index(all.len())).map(|(name, it)| (name.clone(), it.clone()));
        let part: BTreeMap<_, _> = part.collect();
        model.want(&part);
        model.run(ms(reload.1));
        model.want(&all);
        model.run(ms(reload.1 + 30_000));
        model.want(&part);
        model.run(ms(reload.1 + 60_000));
    }

    /// One service's names, however many, spelled and silent, cost a good name of another no wait at all.
    #[test]
    fn names_of_one_service_never_make_a_good_name_of_another_wait(flood in names_of_one(), ttl in 0u64..5_000) {
        let mut model = Model::new(2);
        let flood = flood.iter().enumerate();
        let of_flood = |(nth, (server, letter)): (usize, &(Server, char))| {
            (name(&format!("{letter}{nth}.test")), (BTreeSet::from([0]), *server))
        };
        let mut all: BTreeMap<_, _> = flood.map(of_flood).collect();
        let good = name("good.example");
        all.insert(good.clone(), (BTreeSet::from([1]), Server::Answers(20, ttl)));
        model.want(&all);
        for round in 0..20 {
            let due = model.names[&good].next;
            model.run(due);
            model.run(due + ms(20));
            prop_assert_eq!(model.names[&good].next, due + ms(20) + ms(ttl).clamp(LEAST, MOST), "{}", round);
        }
    }
}
