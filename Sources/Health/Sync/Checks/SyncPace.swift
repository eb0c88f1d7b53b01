import HoldfastCore
import HoldfastHealthSync
import HoldfastLinkChecks
import HoldfastSyncData
import HoldfastUploads

/// A checker that detects uploads that are sent too early, too often, or at a cost that the user
/// does not want.
struct SyncPace: Sendable {
  /// The end of the server's retry-after, for all types and for single types.
  private var restsUntil: Instant?
  private var typeRests: [String: Instant] = [:]
  private var types: [String: String] = [:]
  /// The times of attempts after a failure that affects all types, oldest first.
  private var tries: [Instant] = []
  private var isFailing = false
  private var isRefused = false
  /// The times at which secrets were refused, oldest first. `mostRefusals` within a minute are
  /// reported as a storm.
  private var refusals: [Instant] = []
  private static let mostRefusals = 20
  /// The times at which each file was last handed over and at which the secret was last replaced.
  private var handed: [String: Instant] = [:]
  private var renewedAt: Instant?
  private var isInBackground = false

  mutating func received(_ input: SyncModel.Input, _ phoneState: PhoneState<SyncFeature>) {
    switch input {
    case .uploaded(let file, .failed(let failure), _): failed(file, failure, phoneState)
    case .uploaded(_, .accepted, _), .identified: isFailing = false
    case .notIdentified(let failure): failed(Self.question, failure, phoneState)
    case .secret(isNew: true): (isRefused, renewedAt) = (false, phoneState.now)
    case .device(.lifecycle(let lifecycle)): isInBackground = lifecycle == .background
    case .uploaded(_, .unreadable, _), .epoch, .secret, .conditions, .restored, .ask, .fired,
      .woken,
      .fetched, .notFetched, .notWritten, .committed, .notCommitted, .split, .notSplit,
      .refreshed, .device, .again,
      .stop:
      return
    }
  }

  private mutating func failed(
    _ file: String, _ failure: LinkFailure, _ phoneState: PhoneState<SyncFeature>
  ) {
    let until = phoneState.policy.retry.honored(failure.retryAfter).map {
      phoneState.now.advanced(by: $0)
    }
    switch failure {
    case .http(let status, _, _) where [408, 425, 429, 502, 503, 504].contains(status):
      isFailing = true
    case .http(401, _, _):
      // If a file was handed over before the secret was replaced, a 401 does not concern the new
      // secret.
      if let renewedAt, handed[file].map({ $0 < renewedAt }) ?? true { return }
      if !isRefused { refusals.append(phoneState.now) }
      if refusals.count > Self.mostRefusals { refusals.removeFirst() }
      isRefused = true
    case .http(let status, _, _) where status < 600:
      // Any answer, including these, shows that the server is reachable.
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

  /// A file name that represents the request for the server's identity.
  private static let question = "who is it?"

  /// Checks a request for the server's identity.
  mutating func asked(_ phoneState: PhoneState<SyncFeature>, _ found: inout Findings) {
    sent([FileUpload(file: Self.question, type: "", bytes: 0)], phoneState, &found)
  }

  mutating func sent(
    _ uploads: [FileUpload], _ phoneState: PhoneState<SyncFeature>, _ found: inout Findings
  ) {
    let now = phoneState.now
    for upload in uploads {
      types[upload.file] = upload.type
      handed[upload.file] = now
      let rest = max(restsUntil ?? now, typeRests[upload.type] ?? now)
      if now < rest {
        let early = now.duration(to: rest)
        found.add(.storm, at: now, "\(upload.file) is sent \(early) before the retry-after ends")
      }
    }
    if isRefused { found.add(.storm, at: now, "sent with a secret that was refused") }
    let conditions = phoneState.own.conditions
    if isInBackground, conditions.isConstrained || conditions.isLowPower {
      found.add(.needless, at: now, "sent in the background although the user saves data or power")
    }
    if refusals.count == Self.mostRefusals, refusals[0].advanced(by: .seconds(60)) > now {
      found.add(.storm, at: now, "\(Self.mostRefusals) secrets were refused within a minute")
    }
    guard isFailing else { return }
    for window in phoneState.policy.retry.windows where tries.count >= window.attempts {
      guard tries[tries.count - window.attempts].advanced(by: window.per) > now else { continue }
      found.add(.storm, at: now, "more than \(window.attempts) tries within \(window.per)")
    }
    tries.append(now)
    let limit = phoneState.policy.retry.windows.map(\.attempts).max() ?? 0
    if tries.count > limit { tries.removeFirst(tries.count - limit) }
  }
}
