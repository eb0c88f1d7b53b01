import HoldfastCore
import HoldfastPorts
import HoldfastSessionAudit

/// A run of an audit. It plays the scripts in their phases, over several connections at once.
struct AuditRun: Sendable {
  let url: String
  /// The URL of the server without a path, for requests that are not upgrades.
  let origin: String
  let key: AuditKey?
  let network: any SocketDialer & HTTPClient
  /// A function that receives the number of finished scripts and the total number of scripts.
  let progress: @Sendable (Int, Int) -> Void

  /// The time limit of the audit. Practices that have not been observed by then count as unseen.
  static let limit = Duration.seconds(80)
  /// The scripts that take a long time by design. No other script waits for them.
  private static let long: Set<AuditScript.Name> = [.stranger, .idle]
  private static let paths = ["/healthz", "/health", "/metrics"]

  private enum Part: Sendable {
    case record(AuditScript.Name, AuditRecord)
    case page(String, AuditEvidence.Page)
    case limit
  }

  /// Plays the scripts and returns the recorded evidence.
  func evidence(generator: RandomSource) async -> AuditEvidence {
    var evidence = AuditEvidence(hasKey: key != nil, isEncrypted: url.hasPrefix("wss://"))
    var key = key
    var waiting = AuditPlan(generator: generator).scripts.filter { !$0.needsLogin || key != nil }
    let all = waiting.count
    var running: Set<AuditScript.Name> = []
    await withTaskGroup(of: Part.self) { group in
      group.addTask {
        try? await BootClock().wait(until: BootClock().now.advanced(by: Self.limit))
        return .limit
      }
      for path in Self.paths { group.addTask { .page(path, await page(path)) } }
      start(.first, &waiting, &running, key, in: &group)
      while let part = await group.next() {
        switch part {
        case .page(let path, let page): evidence.pages[path] = page
        case .limit: group.cancelAll()
        case .record(let name, let record):
          evidence.records[name] = record
          running.remove(name)
          progress(evidence.records.count, all)
        }
        if isDone(evidence, waiting, running) { group.cancelAll() }
        guard !group.isCancelled else { continue }
        if evidence.takesKeyAlone { key?.sign = nil }
        advance(evidence, &waiting, &running, key, in: &group)
      }
    }
    return evidence
  }

  /// Returns whether no further evidence can be recorded.
  private func isDone(
    _ evidence: AuditEvidence, _ waiting: [AuditScript], _ running: Set<AuditScript.Name>
  ) -> Bool {
    let isUnreachable = evidence.records[.opening] != nil && evidence.obstacle != nil
    return isUnreachable || waiting.isEmpty && running.isEmpty
  }

  /// Starts the scripts of each phase that may begin now.
  private func advance(
    _ evidence: AuditEvidence, _ waiting: inout [AuditScript],
    _ running: inout Set<AuditScript.Name>, _ key: AuditKey?, in group: inout TaskGroup<Part>
  ) {
    guard key == nil || evidence.records[.login] != nil else { return }
    if evidence.isKeyRefused { waiting.removeAll { $0.needsLogin } }
    start(.second, &waiting, &running, key, in: &group)
    if running.isSubset(of: Self.long) { start(.third, &waiting, &running, key, in: &group) }
  }

  private func start(
    _ phase: AuditScript.Phase, _ waiting: inout [AuditScript],
    _ running: inout Set<AuditScript.Name>, _ key: AuditKey?, in group: inout TaskGroup<Part>
  ) {
    for script in waiting where script.phase == phase {
      running.insert(script.name)
      let driver = ScriptDriver(script, key: key, url: url, network: network)
      group.addTask { .record(script.name, await driver.play()) }
    }
    waiting.removeAll { $0.phase == phase }
  }

  private func page(_ path: String) async -> AuditEvidence.Page {
    let clock = BootClock()
    let start = clock.now
    let request = HTTPCall(
      method: "GET", url: origin + path, timeout: .seconds(5), maxBodyBytes: 1 << 20)
    do throws(LinkFailure) {
      let response = try await network.send(request)
      let text = String(decoding: response.body, as: UTF8.self)
      return AuditEvidence.Page(
        status: response.status, text: text, time: start.duration(to: clock.now))
    } catch {
      return AuditEvidence.Page(
        status: nil, text: error.description, time: start.duration(to: clock.now))
    }
  }
}
