import HoldfastCore
import HoldfastSessionAudit

/// An audit of a simulated server, in virtual time.
enum PretendAudit {
  /// Runs all scripts, and returns the report on their records.
  static func report(
    _ kind: PretendServer.Kind = .session, _ faults: Set<PretendServer.Fault> = [],
    hasKey: Bool = true, key: String = PretendServer.key, pages: Int? = 200,
    page: String = metrics, isEncrypted: Bool = false, limit: Duration = .seconds(1_000)
  ) -> AuditReport {
    evidence(
      kind, faults, hasKey: hasKey, key: key, pages: pages, page: page, isEncrypted: isEncrypted,
      limit: limit
    )
    .report(server: "a server")
  }

  static func evidence(
    _ kind: PretendServer.Kind = .session, _ faults: Set<PretendServer.Fault> = [],
    hasKey: Bool = true, key: String = PretendServer.key, pages: Int? = 200,
    page: String = metrics, isEncrypted: Bool = false, limit: Duration = .seconds(1_000)
  ) -> AuditEvidence {
    var evidence = AuditEvidence(hasKey: hasKey, isEncrypted: isEncrypted)
    var secret = AuditKey(key: Secret(key), sign: { PretendServer.sign($0, with: key) })
    let all = AuditPlan(generator: RandomSource(seed: 1)).scripts.filter {
      hasKey || !$0.needsLogin
    }
    for script in all.filter({ $0.name == .login }) + all.filter({ $0.name != .login }) {
      var server = PretendServer(kind, faults)
      server.isReturn = script.name != .login
      evidence.records[script.name] = play(
        script, hasKey ? secret : nil, with: &server, until: limit)
      if evidence.takesKeyAlone { secret.sign = nil }
    }
    if let pages {
      for path in ["/healthz", "/health", "/metrics"] {
        evidence.pages[path] = .init(status: pages, text: page, time: .milliseconds(1))
      }
    }
    return evidence
  }

  /// A page of metrics in the text format of Prometheus.
  static let metrics = "# TYPE sockets gauge\nsockets 7\n"

  /// Runs one script to its end, and calls `note` with each effect and its time.
  static func play(
    _ script: AuditScript, _ key: AuditKey?, with server: inout PretendServer,
    until limit: Duration = .seconds(1_000), note: (Instant, ScriptRun.Effect) -> Void = { _, _ in }
  ) -> AuditRecord {
    var now = Instant.zero
    var run = ScriptRun(script, key: key, at: now, wall: Timestamp(nanoseconds: 0))
    var queue: [(at: Instant, number: Int, input: ScriptRun.Input)] = []
    var number = 0
    func add(_ effects: [ScriptRun.Effect], _ server: inout PretendServer) {
      for effect in effects {
        note(now, effect)
        for (after, input) in server.take(effect) {
          number += 1
          queue.append((now.advanced(by: after), number, input))
        }
      }
    }
    add(run.begin(at: now), &server)
    while !run.isOver {
      queue.sort { ($0.at, $0.number) < ($1.at, $1.number) }
      let next = queue.first?.at
      if [run.deadline, next].compactMap(\.self).allSatisfy({ $0 >= .zero.advanced(by: limit) }) {
        _ = run.stop(isComplete: false)
        break
      }
      if let deadline = run.deadline, next.map({ deadline <= $0 }) ?? true {
        now = deadline
        add(run.tick(at: now), &server)
      } else if let next {
        now = next
        let input = queue.removeFirst().input
        guard server.stillHappens(input) else { continue }
        add(run.handle(input, at: now), &server)
        run.note(compressed: server.compressed(input), on: input.line)
        // Nothing arrives on a connection that has ended.
        if let line = input.ended { queue.removeAll { $0.input.line == line } }
      }
    }
    return run.record
  }
}

extension ScriptRun.Input {
  /// The number of the connection that this input ends, or `nil` if it ends none.
  fileprivate var ended: Int? { if case .ended(let line, _) = self { line } else { nil } }

  /// The number of the connection that this input concerns.
  fileprivate var line: Int {
    switch self {
    case .opened(let line, _), .text(let line, _), .binary(let line, _), .ping(let line),
      .pong(let line), .ended(let line, _):
      line
    }
  }
}
