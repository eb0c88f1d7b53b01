import LinkCore
import LinkRuntime
import SessionAudit

/// One audit: all scripts in their phases, several connections at once.
struct AuditRun: Sendable {
  let url: String
  /// The same server for requests without an upgrade, without a path.
  let origin: String
  let key: AuditKey?
  let network: any SocketDialer & HTTPClient
  /// Told how many of how many scripts are over.
  let progress: @Sendable (Int, Int) -> Void

  /// The end of everything; what was not seen until then was not seen.
  static let limit = Duration.seconds(80)
  /// The scripts that last long by themselves; no other waits for them.
  private static let long: Set<AuditScript.Name> = [.stranger, .idle]
  private static let paths = ["/healthz", "/health", "/metrics"]

  private enum Part: Sendable {
    case record(AuditScript.Name, AuditRecord)
    case page(String, AuditEvidence.Page)
    case limit
  }

  /// Returns what was recorded.
  func evidence(chance: Chance) async -> AuditEvidence {
    var evidence = AuditEvidence(hasKey: key != nil, isEncrypted: url.hasPrefix("wss://"))
    var key = key
    var waiting = AuditPlan(chance: chance).scripts.filter { !$0.needsLogin || key != nil }
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

  /// Whether nothing more can be seen.
  private func isDone(
    _ evidence: AuditEvidence, _ waiting: [AuditScript], _ running: Set<AuditScript.Name>
  ) -> Bool {
    let isUnreachable = evidence.records[.opening] != nil && evidence.obstacle != nil
    return isUnreachable || waiting.isEmpty && running.isEmpty
  }

  /// Starts the scripts whose turn has come.
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
        status: nil, text: LinkReason.text(error), time: start.duration(to: clock.now))
    }
  }
}
