public import HealthSync
public import LinkCore
import LinkHealth
public import LinkServerCore
public import LinkWire

/// Data that are put back to an earlier state.
public enum SyncBackup: Sendable, Hashable {
  /// What the server has stored.
  case server
  /// The health store of a phone, which takes the changes since then once more.
  case healthStore(phone: Int)
  /// The queue of a phone and its files.
  case queue(phone: Int)
}

/// HealthSync in a world: phones with health data, their systems, and a backend.
///
/// The system of a phone survives the app: it fires observers, grants time, locks the device, and,
/// in half of the worlds, owns the uploads.
public enum SyncFeature: SimulatedFeature {
  /// The model of a sync on a phone.
  public typealias Model = SyncModel
  /// The checkers of a sync's own promises.
  public typealias Checkers = SyncCheckers

  /// There are no sockets.
  public typealias Packet = Nothing

  /// A request of a phone, with the number of the secret that it shows.
  public enum Question: Sendable {
    case upload(phone: Int, file: String, body: [UInt8], secret: Int)
    case refresh(phone: Int, secret: Int)
    /// Whose progress it is.
    case identify(phone: Int, secret: Int)
    /// One request of an upload that takes several.
    case part(phone: Int, file: String, SyncRequest)
  }

  /// The answer of a server.
  public struct Reply: Sendable {
    var status: Int
    var retryAfter: Duration?
    /// Its header fields, where it was made by the server itself.
    var fields: [UploadField] = []
    /// The reason that it gives, for people.
    var detail = ""
    /// Its body.
    var body: [UInt8] = []
  }

  /// A future event of the world's own.
  public enum Cue: Sendable {
    // Phones.
    case input(SyncModel.Input)
    case reads(SyncFetchID, String, HealthPageStart, limit: Int, notBefore: Timestamp)
    case writes(SyncFetchID, FetchedPage, [[UInt8]])
    case halves(String, [PayloadDraft], [[UInt8]])
    case commits(SyncCommitID, [SyncQueueStep])
    // Systems.
    case fires(phone: Int)
    case naps(phone: Int)
    case tries(phone: Int, file: String)
    /// A server tells where an upload goes on while its body is sent.
    case informs(phone: Int, file: String, TrafficID, [UploadField])
    // The server.
    /// - upTo: How many bytes of an upload it is made of; `nil` if it came in one request.
    case stores(StoreToken, SyncDelivery, upTo: Int?)
    /// The newest stamp of a phone is read.
    case stamps(StoreToken, user: String, device: String)
    case keeps(SyncPiece)
    case completes(SyncPiece)
    /// The rest of a body is there, or does not come.
    case bodies(TrafficID)
    case done(StoreToken, SyncOutcome)
    case repeats(Question)
    /// A person looks at the data of a phone.
    case looks(phone: Int)
  }

  /// What only this world knows to have happened.
  public enum Fact: Sendable, Equatable {
    /// The system granted time until then.
    case granted(phone: Int, WakeID, until: Instant)
    /// Data were put back to an earlier state.
    case putBack(SyncBackup)
    /// A file was handed over whose upload still runs.
    case handedTwice(phone: Int, file: String)
    /// A reading was refused, since the device is locked.
    case locked(phone: Int, SyncFetchID)
    /// The source changed.
    case changed(phone: Int)
    /// Something happened to an upload that takes several requests.
    case upload(phone: Int, file: String, SyncUploadFact)
    /// The file of an upload that is complete is still there.
    case leftover(phone: String, bytes: Int)
    /// A person is shown something else than the phone has.
    case misshown(phone: Int, String)
    /// A request is answered in another way than the protocols say.
    case misanswered(String)
    /// The server stores a batch, or is to store one, that no phone of its user has written.
    case damaged(user: String, String)
  }

  /// What the world counts.
  public enum Tally: String, RunTally {
    case samples, deletions, batches, stored, wakes

    public var label: String { rawValue }
  }

  /// What its plans fix for a run beside the weather.
  public struct Numbers: PlanNumbers {
    /// How long a call of the server's store takes.
    public var storeDelay = Duration.milliseconds(2)
    /// How many phones there are.
    public var phones = 2
    /// Whether the systems own the uploads: 1 if they do.
    public var system = 0
    /// How many uploads of a type are handed over at once.
    public var depth = 1
    /// The largest body that the server takes, in bytes.
    public var maxBody = 4 << 20
    /// The share of requests that arrive again later, by an intermediary.
    public var again = 0.0
    /// The longest time from a change to the observers.
    public var delivery = Duration.seconds(2)
    /// From so many bytes on an upload resumes in the middle; 0 for never.
    public var resumesFrom = 0
    /// The most bytes of a request that the server names; 0 if it names none.
    public var piece = 0
    /// The protocol of uploads that the server offers: an interop version of the draft, 1 for tus,
    /// 0 for none.
    public var dialect = 8
    /// The share of bodies that are cut in the middle.
    public var cuts = 0.0
    /// Whether bodies are compressed: 1 if they are.
    public var coded = 0
    /// Whether people have two devices and many types of samples, over weeks: 1 if they do.
    public var variety = 0

    public init() {}

    public static var fields: [PlanField<Numbers>] {
      [
        .span("storeDelay", \.storeDelay), .number("phones", \.phones, 1...2),
        .number("system", \.system, 0...1), .number("depth", \.depth, 1...64),
        .number("maxBody", \.maxBody, 1_000...1 << 30), .number("again", \.again, 0...1),
        .span("delivery", \.delivery), .number("resumesFrom", \.resumesFrom, 0...1 << 30),
        .number("piece", \.piece, 0...1 << 30), .number("dialect", \.dialect, 0...8),
        .number("cuts", \.cuts, 0...1), .number("coded", \.coded, 0...1),
        .number("variety", \.variety, 0...1),
      ]
    }
  }

  /// What the checkers see of a phone beside its model.
  public struct State: Sendable {
    var phone = 0
    var depth = 1
    /// What the device says about the cost of uploads.
    var conditions = SyncConditions()
    /// Batches that wait, and those that are parked.
    var pending = 0
    var parked = 0
    /// Samples that the backend lacks, and those that it has although they were deleted, when the
    /// model said last that it is complete.
    var missing = 0
    var extra = 0
    /// The model says that nothing is left to do.
    var isComplete = false
    /// The server of the present run asked to be left alone until then.
    var restsUntil: Instant?
  }

  public static var name: String { "sync" }
  public static var summary: String { "play phones that sync health samples to a backend" }
  public static var details: [String] {
    [
      """
      Phones read health data that is added and deleted, keep batches in a queue, and post them \
      to a backend; their systems grant time, lock devices, end apps, and may own the uploads. \
      Checkers watch that the backend holds exactly what the phones hold, and that anchors, \
      files, granted time, and the server's wishes are treated as they must be.
      """
    ]
  }
  public static var policy: LinkPolicy { .healthSync }
  public static func hosts(_ numbers: Numbers) -> [HostKind] {
    Array(repeating: .phone, count: numbers.phones) + [.backend]
      + Array(repeating: .system, count: numbers.phones)
  }
  public static var kinds: [Finding.Kind] {
    [
      .lost, .undeleted, .ahead, .hasty, .parked, .resent, .reordered, .doubled, .overdue,
      .unread, .leftover, .damaged, .misshown, .misanswered, .leaked,
    ] + Finding.Kind.ofLinks
  }

  public static func play(
    _ plan: Plan, _ setup: RunSetup<SyncFeature>, watch: RunWatch<SyncFeature>?
  ) -> Outcome {
    var world = SyncWorld(plan, setup, watch: watch)
    return world.play()
  }

  public static func restsUntil(_ standing: Standing<SyncFeature>) -> Instant? {
    standing.own.restsUntil
  }

  public static func isHealed(_ standing: Standing<SyncFeature>) -> Bool {
    standing.own.isComplete && standing.own.parked == 0 && standing.own.missing == 0
      && standing.own.extra == 0
  }

  public static func remains(_ standing: Standing<SyncFeature>) -> String {
    let own = standing.own
    return ", \(own.pending) batches wait, \(own.parked) parked, \(own.missing) samples missing,"
      + " \(own.extra) too many"
  }

  public static func checkBounds(
    _ standing: Standing<SyncFeature>, _ found: (String, Int, Int) -> Void
  ) {
    if standing.own.pending > 1_000 { found("batches", standing.own.pending, 1_000) }
  }

  public static func expose(_ effect: Effect, _ look: (String, String) -> Void) {
    if case .update(.notice(let notice)) = effect { look("\(notice)", "a notice") }
  }
}

extension Finding.Kind {
  /// A sample that the backend has although it was deleted.
  public static let undeleted = Finding.Kind(rawValue: "undeleted")
  /// An anchor beyond what is durable.
  public static let ahead = Finding.Kind(rawValue: "ahead")
  /// A file that was deleted, or a batch that left the queue, before the server had it.
  public static let hasty = Finding.Kind(rawValue: "hasty")
  /// A batch that was put aside although the server did not refuse it.
  public static let parked = Finding.Kind(rawValue: "parked")
  /// A batch that was sent again although the server had it, or while it was on its way.
  public static let resent = Finding.Kind(rawValue: "resent")
  /// Granted time that was not given back before its end.
  public static let overdue = Finding.Kind(rawValue: "overdue")
  /// Partial data of an upload that is complete, or is older than it may be.
  public static let leftover = Finding.Kind(rawValue: "leftover")
  /// A batch that arrived with other bytes than its phone wrote.
  public static let damaged = Finding.Kind(rawValue: "damaged")
  /// An answer that does not show what is stored.
  public static let misshown = Finding.Kind(rawValue: "misshown")
  /// An answer that the protocols do not allow.
  public static let misanswered = Finding.Kind(rawValue: "misanswered")
  /// Granted time that was given back as used before its types were read.
  public static let unread = Finding.Kind(rawValue: "unread")
}
