public import HoldfastCore
public import HoldfastHealthSync
public import HoldfastLinkChecks
public import HoldfastServerParts
public import HoldfastSyncChecks
public import HoldfastSyncData
public import HoldfastSyncServer
public import HoldfastUploads
public import HoldfastWorldKernel

// HealthSync in the simulator: phones with health data, their systems, and a backend.
extension SyncFeature: SimulatedFeature {
  /// The checkers of what only the world knows.
  public typealias WorldCheckers = SyncWorldCheckers

  /// The type of packets. It is unused because there are no sockets.
  public typealias Packet = Nothing

  /// A request from a phone, with the number of the secret that it contains.
  public enum Question: Sendable {
    case upload(phone: Int, file: String, body: [UInt8], secret: Int)
    case refresh(phone: Int, secret: Int)
    /// A request for the server's identity and the phone's newest stamp.
    case identify(phone: Int, secret: Int)
    /// One of the requests of an upload that takes several requests.
    case part(phone: Int, file: String, SyncRequest)
  }

  /// The server's answer.
  public struct Reply: Sendable {
    var status: Int
    var retryAfter: Duration?
    /// The header fields; empty unless the server itself sent the reply.
    var fields: [UploadField] = []
    /// The human-readable reason.
    var detail = ""
    var body: [UInt8] = []
  }

  /// A scheduled event of this world.
  public enum ScheduledEvent: Sendable {
    // Phones.
    case input(SyncModel.Input)
    case reads(SyncFetchID, String, HealthPageStart, limit: Int, notBefore: Timestamp)
    case writes(SyncFetchID, FetchedPage, [[UInt8]])
    case splits(String, [PayloadDraft], [[UInt8]])
    case commits(SyncCommitID, [SyncQueueStep])
    // Systems.
    case fires(phone: Int)
    case naps(phone: Int)
    case tries(phone: Int, file: String)
    /// The server reports the URL at which an upload can resume while the upload's body is being
    /// sent.
    case informs(phone: Int, file: String, TrafficID, [UploadField])
    // The server.
    /// A batch is stored. `upTo` is the size of its upload in bytes; `nil` if the batch arrived in
    /// one request.
    case stores(StoreToken, SyncDelivery, upTo: Int?)
    /// The newest stamp of a phone is read.
    case stamps(StoreToken, user: String, device: String)
    case writesPiece(SyncPiece)
    case completes(SyncPiece)
    /// The remainder of a body arrives or is cut off.
    case bodies(TrafficID)
    case done(StoreToken, SyncOutcome)
    case repeats(Question)
    /// A person looks at the data of a phone.
    case queries(phone: Int)
  }

  /// The counters of this world.
  public enum Counter: String, RunCounter {
    case samples, deletions, batches, stored, wakes

    public var label: String { rawValue }
  }

  /// The numbers that a plan fixes for a run, in addition to the network conditions.
  public struct Numbers: PlanNumbers {
    /// The duration of a call to the server's store.
    public var storeDelay = Duration.milliseconds(2)
    /// The number of phones.
    public var phones = 2
    /// Whether the phones' systems own the uploads: 1 if they do, otherwise 0.
    public var system = 0
    /// The number of uploads of the same type that are handed over at once.
    public var depth = 1
    /// The maximum size of a body that the server accepts, in bytes.
    public var maxBody = 4 << 20
    /// The share of requests that an intermediary repeats later.
    public var again = 0.0
    /// The maximum delay between a change and the calls of its observers.
    public var delivery = Duration.seconds(2)
    /// The minimum size of a payload whose upload can resume, in bytes; 0 if no upload can resume.
    public var resumesFrom = 0
    /// The maximum request size that the server announces, in bytes; 0 if it announces none.
    public var piece = 0
    /// The upload protocol that the server offers: an interop version of the draft, 1 for tus, or 0
    /// for none.
    public var dialect = 8
    /// The share of bodies that are cut off before their end.
    public var cuts = 0.0
    /// Whether the server announces gzip, so that phones compress bodies: 1 if it does, otherwise
    /// 0.
    public var coded = 0
    /// Whether people have two devices, and many types of samples over several weeks: 1 if they do,
    /// otherwise 0.
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

  public static var summary: String { "play phones that sync health samples to a backend" }
  public static var details: [String] {
    [
      """
      Phones read health data that is added and deleted, keep batches in a queue, and post them \
      to a backend; their systems grant time, lock devices, end apps, and may own the uploads. \
      Checkers verify that the backend holds exactly what the phones hold, and that anchors, \
      files, granted time, and retry-after times are handled correctly.
      """
    ]
  }
  public static func hosts(_ numbers: Numbers) -> [HostKind] {
    Array(repeating: .phone, count: numbers.phones) + [.backend]
      + Array(repeating: .system, count: numbers.phones)
  }
  public static var kinds: [Finding.Kind] {
    [
      .lost, .undeleted, .ahead, .deletedEarly, .quarantined, .resent, .reordered, .doubled,
      .overdue,
      .unread, .leftover, .damaged, .displayMismatch, .invalidResponse, .leaked,
    ] + Finding.Kind.ofLinks
  }

  public static func play(
    _ plan: Plan, _ setup: RunSetup<SyncFeature>, watch: RunWatch<SyncFeature>?
  ) -> Outcome {
    var world = SyncWorld(plan, setup, watch: watch)
    return world.play()
  }

}

extension Finding.Kind {
  /// The backend still has a deleted sample.
  public static let undeleted = Finding.Kind(rawValue: "undeleted")
  /// Partial data remains of an upload that is complete or has expired.
  public static let leftover = Finding.Kind(rawValue: "leftover")
  /// A batch arrived with different bytes from those that its phone wrote.
  public static let damaged = Finding.Kind(rawValue: "damaged")
  /// An answer differs from the stored data.
  public static let displayMismatch = Finding.Kind(rawValue: "display-mismatch")
  /// An answer is not allowed by the protocols.
  public static let invalidResponse = Finding.Kind(rawValue: "invalid-response")
}

// Contributions of inputs, effects and facts to a run's digest, in addition to their roles. Sets
// are omitted, because they are unordered.
extension SyncFeature {
  public static func mix(_ fact: Fact, into digest: inout Digest) {
    switch fact {
    case .granted(let phone, let wake, let until):
      digest.mix(1, UInt64(phone), wake.number)
      digest.mix(UInt64(bitPattern: until.nanoseconds))
    case .handedTwice(let phone, let file):
      digest.mix(2, UInt64(phone))
      digest.mix(file)
    case .putBack(let backup):
      switch backup {
      case .server: digest.mix(7)
      case .healthStore(let phone): digest.mix(8, UInt64(phone))
      case .queue(let phone): digest.mix(9, UInt64(phone))
      }
    case .locked(let phone, let id): digest.mix(3, UInt64(phone), id.number)
    case .changed(let phone): digest.mix(4, UInt64(phone))
    case .upload(let phone, let file, let fact):
      digest.mix(5, UInt64(phone))
      digest.mix(file)
      mix(fact, into: &digest)
    case .displayMismatch(let phone, let detail):
      digest.mix(6, UInt64(phone))
      digest.mix(detail)
    case .invalidResponse(let detail): digest.mix(detail)
    case .damaged(let phone, let detail):
      digest.mix(phone)
      digest.mix(detail)
    case .leftover(let phone, let bytes):
      digest.mix(phone)
      digest.mix(UInt64(bytes))
    }
  }

  private static func mix(_ fact: SyncUploadFact, into digest: inout Digest) {
    switch fact {
    case .begins(let isGzip): digest.mix(isGzip)
    case .storedURL(let url, _): digest.mix(url)
    case .appends(let url, let from, let count):
      digest.mix(url)
      digest.mix(UInt64(from), UInt64(count))
    case .answered(_, let status, let offset, let isComplete):
      digest.mix(UInt64(status), UInt64(offset ?? 0))
      digest.mix(isComplete)
    }
  }

  public static func mix(_ input: Input, into digest: inout Digest) {
    switch input {
    case .restored(let queue, let running, let missing):
      digest.mix(1, UInt64(queue.batches.count), UInt64(running.count))
      digest.mix(UInt64(missing.count))
    case .ask(let types): digest.mix(2, UInt64(types.count))
    case .fired(let types, let wake, let budget):
      digest.mix(3, wake.number, UInt64(types.count))
      digest.mix(budget)
    case .woken(let wake, let budget, let reads):
      digest.mix(10, wake.number, reads ? 1 : 0)
      digest.mix(budget)
    case .fetched(let id, let page):
      digest.mix(4, id.number, UInt64(page.drafts.count))
      digest.mix(page.made)
    case .notFetched(let id, _): digest.mix(5, id.number)
    case .notWritten(let id, _): digest.mix(6, id.number)
    case .committed(let id): digest.mix(7, id.number)
    case .notCommitted(let id, _): digest.mix(8, id.number)
    case .uploaded(let file, let outcome, let wall):
      digest.mix(file)
      digest.mix(wall)
      mix(outcome, into: &digest)
    case .split(let file, let drafts):
      digest.mix(file)
      digest.mix(UInt64(drafts.count))
    case .notSplit(let file, _): digest.mix(file)
    case .identified(let identity):
      digest.mix(identity.owner.epoch ?? "")
      if let stamp = identity.stamp { digest.mix(stamp) }
    case .notIdentified: digest.mix(9)
    case .epoch(let epoch): digest.mix(epoch)
    case .secret(let isNew): digest.mix(isNew)
    case .refreshed(let failure): digest.mix(failure == nil)
    case .conditions(let conditions):
      digest.mix(conditions.isUnlocked)
      digest.mix(conditions.isConstrained || conditions.isLowPower)
    case .device, .again, .stop: return
    }
  }

  private static func mix(_ outcome: UploadOutcome, into digest: inout Digest) {
    switch outcome {
    case .accepted: digest.mix(1)
    case .failed(.http(let status, _, _)): digest.mix(2, UInt64(status))
    case .failed: digest.mix(3)
    case .unreadable: digest.mix(4)
    }
  }

  public static func mix(_ effect: Effect, into digest: inout Digest) {
    switch effect {
    case .observe(let types): digest.mix(1, UInt64(types.count))
    case .fetch(let id, let type, _, _, let stamp):
      digest.mix(2, id.number)
      digest.mix(type)
      digest.mix(stamp)
    case .commit(let id, let steps): digest.mix(3, id.number, UInt64(steps.count))
    case .delete(let files): digest.mix(4, UInt64(files.count))
    case .upload(let all): for upload in all { digest.mix(upload.file) }
    case .split(let file): digest.mix(file)
    case .identify: digest.mix(10)
    case .requestSecret: digest.mix(5)
    case .refresh: digest.mix(6)
    case .giveBack(let wake, let result):
      digest.mix(7, wake.number)
      digest.mix(result == .done)
    case .update(let update): mix(update, into: &digest)
    }
  }

  private static func mix(_ update: SyncUpdate, into digest: inout Digest) {
    switch update {
    case .batch(let report):
      digest.mix(report.file)
      digest.mix(report.state.rawValue)
    case .type(let report): digest.mix(8, UInt64(report.pending), UInt64(report.synced))
    case .notice: digest.mix(9)
    }
  }
}

extension SyncFeature {
  /// The kinds of planned events of this world.
  public enum EventKind: String, PlanEventKind {
    // People.
    /// Samples are added; `number` is how many.
    case adds
    /// Samples are deleted; `number` is how many.
    case deletes
    /// Deleted samples are added again; `number` is how many.
    case restores
    /// The user force-quits the app. The system does not launch it until the user opens it again.
    case forceQuits
    /// The user has quarantined batches sent again.
    case retries
    /// The user requests that a type be read again from the start.
    case resets
    /// The health store is restored to an earlier state. Imports then repeat the later changes.
    case storeReturns
    /// The queue and its files are restored to their state at the most recent launch of the app.
    case queueReturns
    // The system.
    /// The device is locked, so that health data cannot be read.
    case locks
    /// The system ends the app. It launches the app again for observers and uploads.
    case evicts
    /// The system grants time although nothing has changed.
    case refreshes, processes
    /// The network is expensive, or the user saves data or power.
    case cellular, lowData, lowPower
    // The server.
    /// The secret changes on the server. The phones receive the new secret after a time span.
    case rotates
    /// Requests are answered with 429 and a retry-after.
    case overloads
    /// The server's data is restored to its state when the process started.
    case serverReturns

    /// The declarations of all event kinds.
    public static let forms: [EventKind: EventForm] = [
      .adds: EventForm(.count(1...5_000), isOfPeople: true) { "has \($0.number) more samples" },
      .deletes: EventForm(.count(1...1_000), isOfPeople: true) { "deletes \($0.number) samples" },
      .restores: EventForm(.count(1...1_000), isOfPeople: true) {
        "brings \($0.number) deleted samples back"
      },
      .forceQuits: EventForm(.span, isOfPeople: true) {
        "force-quits the app, and opens it again after \(length($0))"
      },
      .retries: EventForm(isOfPeople: true) { _ in "sends quarantined batches again" },
      .resets: EventForm(.number(0...2), isOfPeople: true) {
        "requests that type \($0.number) be read again"
      },
      .storeReturns: EventForm(isOfPeople: true) { _ in
        "restores an earlier health store, and imports the later changes again"
      },
      .queueReturns: EventForm(.span, isOfPeople: true) {
        "restores earlier data of the app, and opens it again after \(length($0))"
      },
      .locks: EventForm(.span) { "the phone is locked for \(length($0))" },
      .evicts: EventForm(.span) {
        "the system ends the app, and launches it when needed, for \(length($0))"
      },
      .refreshes: EventForm { _ in "the system grants 30 s" },
      .processes: EventForm { _ in "the system grants 3 min" },
      .cellular: EventForm(.span) { "the network is expensive for \(length($0))" },
      .lowData: EventForm(.span, isOfPeople: true) { "saves data for \(length($0))" },
      .lowPower: EventForm(.span, isOfPeople: true) { "saves power for \(length($0))" },
      .rotates: EventForm(.span, of: .backend) {
        "the secret changes, and phones have it after \(length($0))"
      },
      .overloads: EventForm(.time, .span, of: .backend) {
        "every request is answered with 429 for \(length($0)), and with a retry-after of "
          + TraceText.length($0.time)
      },
      .serverReturns: EventForm(.span, of: .backend) {
        "the server is restored from a backup within \(length($0))"
      },
    ]
  }

  public static func draw(_ preset: DayPreset, _ builder: inout PlanBuilder<SyncFeature>) {
    builder.numbers.storeDelay = builder.draw.one(.milliseconds(2), .milliseconds(300))
    builder.numbers.phones = builder.draw.one(1, 2)
    builder.numbers.system = builder.draw.one(0, 1)
    builder.numbers.depth = builder.draw.one(1, 1, 16)
    builder.numbers.maxBody = builder.draw.one(4 << 20, 4 << 20, 4_000, 1_000)
    builder.numbers.again = builder.draw.one(0, 0, 0.05, 0.3)
    builder.numbers.delivery = builder.draw.one(.milliseconds(200), .seconds(5), .seconds(300))
    builder.aside { builder in
      builder.numbers.variety = builder.draw.one(0, 0, 1)
      guard builder.draw.happens(0.5) else { return }
      builder.numbers.resumesFrom = builder.draw.one(300, 1_000, 3_000)
      builder.numbers.piece = builder.draw.one(0, 200, 1_000, 3_000)
      builder.numbers.dialect = builder.draw.one(8, 8, 3, 3, 1, 1, 5, 6, 0)
      builder.numbers.cuts = builder.draw.one(0, 0.1, 0.5)
      builder.numbers.coded = builder.draw.one(0, 1)
    }
    builder.day(preset)
    builder.scatter(builder.draw.count(6...20)) { PlannedEvent(.adds, $0.one(1, 1, 2, 5, 30)) }
    builder.scatter(builder.draw.count(2...10)) { PlannedEvent(.deletes, $0.one(1, 1, 3)) }
    builder.scatter(builder.draw.count(0...4)) { PlannedEvent(.restores, $0.one(1, 2)) }
    builder.scatter(builder.draw.count(1...5)) {
      $0.one(PlannedEvent(.refreshes), PlannedEvent(.processes))
    }
    let isRough = preset == .swarm || preset == .deploy
    builder.swarm(PlanBuilder<SyncFeature>.troubles, times: isRough ? 8...24 : 1...8)
    for index in builder.events.indices where builder.events[index].event.isOfPhone {
      if builder.draw.happens(0.6) {
        builder.events[index].event.host = builder.draw.count(0...builder.numbers.phones - 1)
      }
    }
    builder.aside { builder in builder.putThingsBack() }
  }
}

extension PlanBuilder<SyncFeature> {
  /// In some plans, adds restored backups and answers that falsely report a success.
  fileprivate mutating func putThingsBack() {
    guard draw.happens(0.4) else { return }
    let phones = numbers.phones
    scatter(draw.count(1...4)) { draw in
      switch draw.count(0...4) {
      case 0, 1: PlannedEvent(.serverReturns, for: draw.seconds(1, 30))
      case 2: PlannedEvent(.storeReturns, on: draw.count(0...phones - 1))
      // The span exceeds the time for which any earlier request can be in progress.
      case 3:
        PlannedEvent(.queueReturns, for: draw.seconds(200, 900), on: draw.count(0...phones - 1))
      // These answers have a success status, but their body reports that nothing was stored.
      case _: PlannedEvent(.restStatus, 200, for: draw.seconds(5, 300))
      }
    }
  }
}

extension PlannedEvent<SyncFeature.EventKind> {
  /// Whether the event affects phones.
  fileprivate var isOfPhone: Bool { (kind ?? form.host) == .phone }
}

extension PlanBuilder<SyncFeature> {
  /// The faults and restrictions that plans of HealthSync draw from. Seeds depend on their order.
  fileprivate static var troubles: [Trouble<SyncFeature.EventKind>] {
    [
      Trouble { PlannedEvent(.locks, for: $0.seconds(1, 600)) },
      Trouble { PlannedEvent(.evicts, for: $0.seconds(5, 900)) },
      Trouble { PlannedEvent(.forceQuits, for: $0.seconds(5, 900)) },
      Trouble { PlannedEvent($0.one(.cellular, .lowData, .lowPower), for: $0.seconds(10, 900)) },
      Trouble { PlannedEvent(.rotates, for: $0.seconds(1, 600)) },
      Trouble { PlannedEvent(.overloads, by: $0.seconds(1, 900), for: $0.seconds(5, 120)) },
      Trouble {
        PlannedEvent(
          .restStatus, $0.one(500, 503, 429, 413, 400, 401, 403, 408),
          for: $0.seconds(1, 60))
      },
      Trouble { PlannedEvent(.kill, for: $0.one(.zero, $0.seconds(0, 60))) },
      Trouble { PlannedEvent(.kill, for: $0.seconds(0.5, 30), at: .backend) },
      Trouble {
        PlannedEvent(
          $0.one(.storeFull, .storeLocked, .storeSlow), for: $0.seconds(1, 60), at: .backend)
      },
      Trouble {
        PlannedEvent($0.one(.storeFull, .storeLocked, .storeSlow), for: $0.seconds(1, 60))
      },
      Trouble { PlannedEvent(.wallClock, by: $0.seconds(-4_000, 4_000)) },
      Trouble { $0.one(PlannedEvent(.retries), PlannedEvent(.resets, $0.count(0...2))) },
    ]
  }
}
