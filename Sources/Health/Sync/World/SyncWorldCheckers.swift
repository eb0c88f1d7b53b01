import HoldfastCore
public import HoldfastHealthSync
public import HoldfastLinkChecks
public import HoldfastSyncChecks
import HoldfastWorldKernel

/// The checkers of HealthSync's guarantees that need a phone's requests, their answers, and what
/// the server has.
public struct SyncWorldCheckers: FeatureCheckers {
  /// The feature that the checkers check.
  public typealias Feature = SyncFeature

  private var found = Findings()
  /// The state of uploads that take several requests, by phone. Uploads can outlive a process.
  private var pieces: [Int: SyncPieces] = [:]
  /// For each phone, the number of samples that the backend lacks, and the number of deleted
  /// samples that it still has.
  private var differences: [Int: (missing: Int, extra: Int)] = [:]

  public init() {}

  public var findings: [Finding] { found.all }

  public mutating func stepped(
    _ input: SyncModel.Input?, isLate: Bool, _ effects: [SyncModel.Effect],
    _ phoneState: PhoneState<SyncFeature>
  ) {
    differences[phoneState.own.phone] = (phoneState.own.missing, phoneState.own.extra)
  }

  public mutating func handle(
    _ seen: Observation<SyncFeature>, _ phoneState: PhoneState<SyncFeature>
  ) {
    switch seen {
    case .launched, .killed: differences[phoneState.own.phone] = nil
    case .fact(.handedTwice(_, let file)):
      found.add(
        .resent, at: phoneState.now, "\(file) was handed over again while it was being sent")
    case .fact(.upload(let phone, let file, let fact)):
      pieces[phone, default: SyncPieces()].noted(file, fact, phoneState.now, &found)
    case .fact(.leftover(let phone, let bytes)):
      found.add(.leftover, at: phoneState.now, "\(bytes) bytes of an upload of \(phone) are left")
    case .fact(.displayMismatch(_, let detail)):
      found.add(.displayMismatch, at: phoneState.now, detail)
    case .fact(.invalidResponse(let detail)):
      found.add(.invalidResponse, at: phoneState.now, detail)
    case .fact(.damaged(let phone, let detail)):
      found.add(.damaged, at: phoneState.now, "a batch of \(phone) \(detail)")
    case .fact, .suspended, .resumed, .received, .ticked, .upgraded, .serverLost, .wentDead,
      .server,
      .began, .ended, .calm:
      return
    }
  }

  public mutating func conclude(_ phoneState: PhoneState<SyncFeature>) {
    for (phone, difference) in differences.sorted(by: { $0.key < $1.key }) {
      let (missing, extra) = difference
      if missing > 0 {
        found.add(
          .lost, at: phoneState.now, "the backend lacks \(missing) samples of phone \(phone)")
      }
      if extra > 0 {
        found.add(
          .undeleted, at: phoneState.now,
          "the backend has \(extra) deleted samples of phone \(phone)"
        )
      }
    }
  }
}
