public import HoldfastCore
public import HoldfastHealthSync
public import HoldfastLinkChecks

/// HealthSync: phones with health data, their systems, and a backend.
///
/// A phone's system keeps running when the app ends. It calls observers, grants time and locks the
/// device. In half of the worlds, it also owns the uploads.
public enum SyncFeature: ObservedFeature {
  /// The model of HealthSync on a phone.
  public typealias Model = SyncModel
  /// The checkers of the guarantees that are specific to HealthSync.
  public typealias Checkers = SyncCheckers

  /// A fact that is specific to this world.
  public enum Fact: Sendable, Equatable {
    /// The system granted time until the given instant.
    case granted(phone: Int, WakeID, until: Instant)
    /// Data was restored to an earlier state.
    case putBack(SyncBackup)
    /// A file was handed over although its upload was still running.
    case handedTwice(phone: Int, file: String)
    /// A read failed because the device was locked.
    case locked(phone: Int, SyncFetchID)
    /// The health data of a phone changed.
    case changed(phone: Int)
    /// A fact about an upload that takes several requests.
    case upload(phone: Int, file: String, SyncUploadFact)
    /// The file of a completed upload still exists.
    case leftover(phone: String, bytes: Int)
    /// The data shown to a person differs from the phone's data.
    case displayMismatch(phone: Int, String)
    /// A request received an answer that the protocols do not allow.
    case invalidResponse(String)
    /// The server received a batch that no phone of its user wrote.
    case damaged(user: String, String)
  }

  /// The state of a phone that the checkers use in addition to its model.
  public struct State: Sendable {
    package var phone = 0
    package var depth = 1
    /// The restrictions on uploads that the device reports.
    package var conditions = SyncConditions()
    /// The numbers of pending and quarantined batches.
    package var pending = 0
    package var quarantined = 0
    /// The number of samples that the backend lacked, and the number of deleted samples that it
    /// still had, when the model was last complete.
    package var missing = 0
    package var extra = 0
    /// Whether the model reports that no work remains.
    package var isComplete = false
    /// The end of the retry-after interval that the server sent in this run of the process.
    package var restsUntil: Instant?

    package init() {}
  }

  public static var name: String { "sync" }
  public static var policy: LinkPolicy { .healthSync }

  public static func step(
    _ phone: HostID, _ input: Input?, isLate: Bool, _ effects: [Effect],
    _ checkers: inout CheckerSet<SyncFeature>
  ) {
    checkers.stepped(phone, input, isLate: isLate, effects)
  }

  public static func observe(
    _ seen: Seen, of phone: Int?, _ checkers: inout CheckerSet<SyncFeature>
  ) {
    checkers.handle(seen, of: phone)
  }

  public static func restsUntil(_ phoneState: PhoneState<SyncFeature>) -> Instant? {
    phoneState.own.restsUntil
  }

  public static func isHealed(_ phoneState: PhoneState<SyncFeature>) -> Bool {
    phoneState.own.isComplete && phoneState.own.quarantined == 0 && phoneState.own.missing == 0
      && phoneState.own.extra == 0
  }

  public static func remains(_ phoneState: PhoneState<SyncFeature>) -> String {
    let own = phoneState.own
    return
      ", \(own.pending) batches wait, \(own.quarantined) quarantined, \(own.missing) samples missing,"
      + " \(own.extra) too many"
  }

  public static func checkBounds(
    _ phoneState: PhoneState<SyncFeature>, _ found: (String, Int, Int) -> Void
  ) {
    if phoneState.own.pending > 1_000 { found("batches", phoneState.own.pending, 1_000) }
  }

  public static func expose(_ effect: Effect, _ report: (String, String) -> Void) {
    if case .update(.notice(let notice)) = effect { report("\(notice)", "a notice") }
  }
}

/// Data that is restored to an earlier state.
public enum SyncBackup: Sendable, Hashable {
  /// The server's stored data.
  case server
  /// The health store of a phone. The later changes are then applied to it again.
  case healthStore(phone: Int)
  /// The queue of a phone and its files.
  case queue(phone: Int)
}

/// A fact about an upload that takes several requests.
public enum SyncUploadFact: Sendable, Equatable {
  /// The upload begins. The phone requests a URL for it, or sends the whole payload.
  case begins(isGzip: Bool)
  /// The phone stored the URL at which the upload resumes.
  case storedURL(url: String, isGzip: Bool)
  /// The phone sends bytes to the upload's URL.
  case appends(url: String, from: Int, count: Int)
  /// The server answered a request about the upload.
  case answered(url: String, status: Int, offset: Int?, isComplete: Bool)
}

extension Finding.Kind {
  /// An anchor is ahead of the stored batches.
  public static let ahead = Finding.Kind(rawValue: "ahead")
  /// A file was deleted, or a batch left the queue, before the server had stored it.
  public static let deletedEarly = Finding.Kind(rawValue: "deleted-early")
  /// A batch was quarantined although the server did not refuse it.
  public static let quarantined = Finding.Kind(rawValue: "quarantined")
  /// A batch was sent again although the server had it, or while it was being sent.
  public static let resent = Finding.Kind(rawValue: "resent")
  /// Granted time was not given back before its end.
  public static let overdue = Finding.Kind(rawValue: "overdue")
  /// Granted time was reported as done before its types were read.
  public static let unread = Finding.Kind(rawValue: "unread")
}
