import HealthSync
import LinkCore
import LinkWire

/// Finds uploads that come too soon, too often, or at a cost that the user does not want.
struct SyncPace: Sendable {
  /// The server asked for no upload before this: of any type, or of one.
  private var restsUntil: Instant?
  private var typeRests: [String: Instant] = [:]
  private var types: [String: String] = [:]
  /// When tries followed a failure that concerns all types, oldest first.
  private var tries: [Instant] = []
  private var isFailing = false
  private var isRefused = false
  /// When secrets were refused, oldest first; so many within a minute are a storm.
  private var refusals: [Instant] = []
  private static let mostRefusals = 20
  /// When each file was handed over, and the secret replaced, last.
  private var handed: [String: Instant] = [:]
  private var renewedAt: Instant?
  private var isInBackground = false

  mutating func told(_ input: SyncModel.Input, _ standing: Standing<SyncFeature>) {
    switch input {
    case .uploaded(let file, .failed(let failure), _): failed(file, failure, standing)
    case .uploaded(_, .accepted, _), .identified: isFailing = false
    case .notIdentified(let failure): failed(Self.question, failure, standing)
    case .secret(isNew: true): (isRefused, renewedAt) = (false, standing.now)
    case .device(.lifecycle(let lifecycle)): isInBackground = lifecycle == .background
    case .uploaded(_, .unreadable, _), .epoch, .secret, .conditions, .restored, .ask, .fired,
      .fetched, .notFetched, .notWritten, .committed, .notCommitted, .split, .notSplit,
      .refreshed, .device, .again,
      .stop:
      return
    }
  }

  private mutating func failed(
    _ file: String, _ failure: LinkFailure, _ standing: Standing<SyncFeature>
  ) {
    let until = standing.policy.retry.obeyed(failure.serverWish).map {
      standing.now.advanced(by: $0)
    }
    switch failure {
    case .http(let status, _, _) where [408, 425, 429, 502, 503, 504].contains(status):
      isFailing = true
    case .http(401, _, _):
      // Those that were handed over before the secret was replaced say nothing of the new one.
      if let renewedAt, handed[file].map({ $0 < renewedAt }) ?? true { return }
      if !isRefused { refusals.append(standing.now) }
      if refusals.count > Self.mostRefusals { refusals.removeFirst() }
      isRefused = true
    case .http(let status, _, _) where status < 600:
      // An answer, even this one, shows that the server is there.
      if status >= 500 || status == 413 || 200..<300 ~= status {
        isFailing = file == Self.question
      }
      if let until, status >= 500, let type = types[file] { typeRests[type] = until }
      return
    case .http, .unreachable, .dns, .refused, .timeout, .tls, .reset, .ended, .closed,
      .protocolError, .proxy, .captivePortal, .local:
      isFailing = true
    }
    if let until { restsUntil = max(restsUntil ?? until, until) }
  }

  /// Stands for the question who the server is among the files that are handed over.
  private static let question = "who is it?"

  /// The server is asked who it is.
  mutating func asked(_ standing: Standing<SyncFeature>, _ found: inout Findings) {
    sent([FileUpload(file: Self.question, type: "", bytes: 0)], standing, &found)
  }

  mutating func sent(
    _ uploads: [FileUpload], _ standing: Standing<SyncFeature>, _ found: inout Findings
  ) {
    let now = standing.now
    for upload in uploads {
      types[upload.file] = upload.type
      handed[upload.file] = now
      let rest = max(restsUntil ?? now, typeRests[upload.type] ?? now)
      if now < rest {
        let early = now.duration(to: rest)
        found.add(.storm, at: now, "\(upload.file) is sent \(early) before the server wants it")
      }
    }
    if isRefused { found.add(.storm, at: now, "sent with a secret that was refused") }
    let conditions = standing.own.conditions
    if isInBackground, conditions.isConstrained || conditions.isLowPower {
      found.add(.needless, at: now, "sent in background although data or power is to be saved")
    }
    if refusals.count == Self.mostRefusals, refusals[0].advanced(by: .seconds(60)) > now {
      found.add(.storm, at: now, "\(Self.mostRefusals) secrets were refused within a minute")
    }
    guard isFailing else { return }
    for window in standing.policy.retry.windows where tries.count >= window.attempts {
      guard tries[tries.count - window.attempts].advanced(by: window.per) > now else { continue }
      found.add(.storm, at: now, "more than \(window.attempts) tries within \(window.per)")
    }
    tries.append(now)
    let kept = standing.policy.retry.windows.map(\.attempts).max() ?? 0
    if tries.count > kept { tries.removeFirst(tries.count - kept) }
  }
}
