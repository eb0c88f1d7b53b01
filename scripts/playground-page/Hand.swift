import HoldfastCore
import HoldfastJSON

/// One link that is played by hand: its owner acts, and a small world around it answers.
///
/// A request has the acts with their times. The link is played from the start each time, so that
/// the same acts always give the same answer. Of what happens, the newest is kept.
struct Hand {
  /// The most steps of an answer. A link with usual waits takes fewer in ten days.
  private static let mostSteps = 200_000
  /// The most acts of a request.
  private static let mostActs = 2_000
  /// The lines that an answer has, and its phases and connections.
  private static let (keptLines, keptSpans) = (300, 1_000)
  private var link: HeldLink
  private var now = Instant.zero
  private var world = World()
  private var due: [Due] = []
  private var lines: [Line] = []
  private var phases: [(at: Instant, phase: LinkStatus.Phase, isPolling: Bool)] = []
  private var connections: [Connection] = []
  private var problem: String?

  /// An input that the simulated network or server causes later.
  private struct Due {
    var at: Instant
    var attempt: AttemptID?
    var input: HeldLink.Input
    /// Whether the server repeats the input.
    var repeats = false
  }

  /// A line of the log. `kind` is `act`, `link` or `world`.
  private struct Line {
    var at: Instant
    var kind: String
    var say: String
  }

  private struct Connection {
    var attempt: AttemptID
    var from: Instant
    var up: Instant?
    var until: Instant?
    var why: String?
  }

  private struct World {
    var server = Server.works
    var path: String? = "Wi-Fi"
    /// The path over which the connection runs.
    var used: String?

    enum Server { case works, silent, away }
  }

  /// Plays acts, each with its time, until an instant.
  init(_ policy: LinkPolicy, _ acts: [(at: Instant, name: String)], until end: Instant) {
    link = HeldLink(policy: policy, seed: 1)
    give(.reachability(.reachable(path: PathID("Wi-Fi"))))
    give(.credentials(.available(expiresIn: .seconds(3600))))
    guard acts.count <= Self.mostActs else {
      problem = "a link has at most \(Self.mostActs) acts: begin again"
      return
    }
    var rest = acts[...]
    var steps = 0
    while true {
      let times = [rest.first?.at, due.first?.at, link.deadline]
      guard let next = times.compactMap({ $0 }).min(), next <= end else { break }
      guard steps < Self.mostSteps else {
        problem =
          "the link takes more than \(Self.mostSteps) steps: choose longer waits, or begin again"
        return
      }
      steps += 1
      now = max(now, next)
      if let first = due.first, first.at <= now {
        due.removeFirst()
        happen(first)
      } else if let act = rest.first, act.at <= now {
        rest.removeFirst()
        perform(act.name)
      } else {
        carry(link.tick(at: now))
      }
    }
    now = max(now, end)
  }
}

// What the owner does.
extension Hand {
  private mutating func perform(_ act: String) {
    switch act {
    case "want": say("The app wants the link.", .setIntent(.live))
    case "leave": say("The app no longer wants the link.", .setIntent(.none))
    case "background": say("The app goes to the background.", .lifecycle(.background))
    case "foreground": say("The app comes to the foreground.", .lifecycle(.foreground))
    case "pull": say("The user pulls to refresh.", .trigger(.userRefresh))
    case "woke": say("The phone wakes from sleep.", .trigger(.woke))
    case "Wi-Fi", "mobile", "offline": change(to: act == "offline" ? nil : act)
    case "works", "silent", "away": serve(act)
    case "cut": cut("Something on the way resets the connection.", .reset)
    case "restart":
      cut(
        "The server closes the connection: it restarts.", .closed(code: 1012, reason: "restart"))
    case "message": message()
    case _: problem = "\(act) is not an act"
    }
  }

  private mutating func say(_ words: String, _ input: HeldLink.Input) {
    note("act", words)
    give(input)
  }

  private mutating func change(to path: String?) {
    world.path = path
    note("act", path.map { "The phone uses \($0) now." } ?? "The phone loses its network.")
    dropAnswers()
    give(.reachability(path.map { .reachable(path: PathID($0)) } ?? .unreachable))
  }

  private mutating func serve(_ act: String) {
    switch act {
    case "silent":
      world.server = .silent
      dropAnswers()
      note("act", "From now on nothing arrives, and nothing is closed.")
    case "away":
      world.server = .away
      note("act", "The server crashes.")
      due = due.filter { $0.attempt == nil }
      if let attempt = link.currentAttempt { lose(attempt, .reset) }
    case _:
      let wasSilent = world.server == .silent
      world.server = .works
      note("act", wasSilent ? "What is sent arrives again." : "The server is back.")
    }
  }

  /// Drops what is on the way of a connection. Its server goes on to ping.
  private mutating func dropAnswers() { due = due.filter { $0.attempt == nil || $0.repeats } }

  private mutating func cut(_ words: String, _ failure: LinkFailure) {
    guard let attempt = link.currentAttempt else {
      note("act", "There is no connection that could end.")
      return
    }
    note("act", words)
    lose(attempt, failure)
  }

  private mutating func message() {
    guard isConnected, answers, let attempt = link.currentAttempt else {
      note("act", "The server has a message, which cannot arrive now.")
      return
    }
    note("act", "A message arrives.")
    give(.validData(attempt))
  }
}

// The world around the link.
extension Hand {
  private static let trip = Duration.milliseconds(60)
  private var isConnected: Bool { link.status.phase == .connected }
  /// Whether the server answers over the path of the connection.
  private var answers: Bool {
    world.server == .works && world.path != nil && world.used == world.path
  }

  private mutating func after(
    _ wait: Duration, _ attempt: AttemptID?, _ input: HeldLink.Input, repeats: Bool = false
  ) {
    let at = now.advanced(by: wait)
    let place = due.firstIndex { $0.at > at } ?? due.endIndex
    due.insert(Due(at: at, attempt: attempt, input: input, repeats: repeats), at: place)
  }

  /// Begins the server's pings, which show that the connection is alive.
  private mutating func beat(_ attempt: AttemptID) {
    after(.seconds(54), attempt, .heard(attempt), repeats: true)
  }

  private mutating func happen(_ next: Due) {
    if let attempt = next.attempt, attempt != link.currentAttempt { return }
    if case .lost(let attempt, let failure) = next.input {
      lose(attempt, failure)
      return
    }
    if next.repeats, let attempt = next.attempt {
      beat(attempt)
      // A ping that does not arrive is not seen.
      guard answers else { return }
      note("world", "The server pings.")
    }
    give(next.input)
    if case .opened(let attempt) = next.input { opened(attempt) }
  }

  private mutating func opened(_ attempt: AttemptID) {
    if let last = connections.indices.last { connections[last].up = now }
    if !isConnected { after(Self.trip, attempt, .established(attempt)) }
    beat(attempt)
  }

  private mutating func lose(_ attempt: AttemptID, _ failure: LinkFailure) {
    end(attempt, failure.description)
    give(.lost(attempt, failure))
  }

  private mutating func end(_ attempt: AttemptID, _ why: String) {
    due.removeAll { $0.attempt == attempt }
    guard let last = connections.indices.last, connections[last].until == nil else { return }
    connections[last].until = now
    connections[last].why = why
  }

  private mutating func open(_ attempt: AttemptID) {
    Self.add(Connection(attempt: attempt, from: now), to: &connections, keeping: Self.keptSpans)
    world.used = world.path
    note("link", "It opens connection \(attempt.number).")
    if world.path == nil {
      after(.milliseconds(5), attempt, .lost(attempt, .unreachable(detail: "")))
    } else if world.server == .away {
      after(.milliseconds(40), attempt, .lost(attempt, .refused))
    } else if world.server == .works {
      after(Self.trip * 2, attempt, .opened(attempt))
    }
  }

  private mutating func poll(_ id: UInt64) {
    note("link", "It polls in place of a connection.")
    switch (world.path, world.server) {
    case (nil, _): after(.milliseconds(5), nil, .polled(id, .unreachable(detail: "")))
    case (_, .works): after(Self.trip, nil, .polled(id, nil))
    case (_, .away): after(.milliseconds(40), nil, .polled(id, .refused))
    case (_, .silent): after(.seconds(10), nil, .polled(id, .timeout(.response)))
    }
  }

  private mutating func give(_ input: HeldLink.Input) { carry(link.handle(input, at: now)) }

  private mutating func carry(_ effects: [HeldLink.Effect]) {
    for effect in effects {
      switch effect {
      case .prepare(let attempt): after(.milliseconds(10), attempt, .prepared(attempt))
      case .open(let attempt): open(attempt)
      case .close(let attempt, let reason):
        end(attempt, reason.description)
        note("link", "It closes connection \(attempt.number): \(reason.description).")
      case .ping(let attempt, let id):
        note("link", "It pings the server.")
        if answers { after(Self.trip, attempt, .pong(attempt, id)) }
      case .refreshCredentials:
        note("link", "It refreshes its tokens.")
        after(Self.trip, nil, .credentials(.available(expiresIn: .seconds(3600))))
      case .poll(let id): poll(id)
      case .status(let status): note(status)
      case .arm, .disarm: break
      }
    }
  }

  private mutating func note(_ status: LinkStatus) {
    let phase = (now, status.phase, status.mode == .polling)
    Self.add(phase, to: &phases, keeping: Self.keptSpans)
    note("status", status.description)
  }

  private mutating func note(_ kind: String, _ say: String) {
    Self.add(Line(at: now, kind: kind, say: say), to: &lines, keeping: Self.keptLines)
  }

  /// Adds an item to a list that keeps at least the newest `count`, and at most twice as many.
  private static func add<Item>(_ item: Item, to list: inout [Item], keeping count: Int) {
    if list.count >= 2 * count { list.removeFirst(count) }
    list.append(item)
  }
}

// The answer.
extension Hand {
  private static func seconds(_ instant: Instant) -> Double {
    Double(instant.nanoseconds / 1000) / 1_000_000
  }

  func write(to writer: inout JSONWriter) {
    if let problem { writer.entry("problems", [problem]) }
    writer.entry("now", Self.seconds(now))
    writer.entry("status", link.status.description)
    writer.entry("next", link.deadline.map { Self.seconds($0) })
    writer.array("deadlines") { list in
      for (name, at) in link.deadlines {
        list.object {
          $0.entry("name", name.rawValue)
          $0.entry("at", Self.seconds(at))
        }
      }
    }
    writer.array("lines") { list in
      for line in lines.suffix(Self.keptLines) {
        list.object {
          $0.entry("t", Self.seconds(line.at))
          $0.entry("kind", line.kind)
          $0.entry("say", line.say)
        }
      }
    }
    writePhases(&writer)
  }

  private func writePhases(_ writer: inout JSONWriter) {
    writer.array("phases") { list in
      for (at, phase, isPolling) in phases.suffix(Self.keptSpans) {
        list.object {
          $0.entry("t", Self.seconds(at))
          $0.entry("phase", phase.rawValue)
          $0.entry("isPolling", isPolling)
        }
      }
    }
    writer.array("connections") { list in
      for one in connections.suffix(Self.keptSpans) {
        list.object {
          $0.entry("number", one.attempt.number)
          $0.entry("from", Self.seconds(one.from))
          $0.entry("up", one.up.map { Self.seconds($0) })
          $0.entry("until", one.until.map { Self.seconds($0) })
          $0.entry("why", one.why)
        }
      }
    }
  }
}

extension Request {
  /// The acts of the request's lines `act=MILLISECONDS NAME`, in order.
  var acts: [(at: Instant, name: String)] {
    values("act").compactMap { line in
      guard let space = line.firstIndex(of: " "), let at = Self.instant(line[..<space]) else {
        return nil
      }
      return (at, String(line[line.index(after: space)...]))
    }
  }

  /// The end of the request. Ten days are long enough for any policy.
  var end: Instant { value("until").flatMap { Self.instant($0[...]) } ?? .zero }

  /// Returns the instant after a number of milliseconds: at most ten days.
  private static func instant(_ text: Substring) -> Instant? {
    Int64(text).map { Instant(nanoseconds: min(max($0, 0), 864_000_000) * 1_000_000) }
  }
}
