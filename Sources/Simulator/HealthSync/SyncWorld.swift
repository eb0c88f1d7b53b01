import HealthSync
import LinkCore
import LinkHealth
import LinkServerCore
import LinkWire

/// Phones with a sync, their systems, and a backend.
struct SyncWorld: SimulatedWorld, ~Copyable {
  typealias Feature = SyncFeature

  var kernel: Kernel<SyncFeature>
  var clients: [SyncModel]
  var phones: [Phone]
  var backend = Backend()
  var seam: SyncSeam
  var glances: Glances
  private(set) var isCalm = false

  /// What belongs to a phone beside its model: most of it survives the process.
  struct Phone {
    var source: SyncSource
    // The disk.
    private(set) var queue = KeptSyncQueue()
    var files: [String: [UInt8]] = [:]
    /// The hashes of all batches that ever were there.
    var written: Set<SyncHash> = []
    /// Where uploads go on, by the file of the payload.
    var tickets: [String: [UInt8]] = [:]
    var lastFile = 0
    /// When the last of the changes under way is written.
    var diskFree = Instant.zero
    /// The number of the secret in its file, and the one that was refused in this run.
    var secret = 1
    var refused: Int?
    var usedSecret = 1
    // The system.
    var tasks: [String: Upload] = [:]
    /// Types that changed and whose observers were not called yet.
    var due: Set<String> = []
    /// When they are called.
    var firesAt: Instant?
    /// What the app observes in this run.
    var observed: [String] = []
    var lastWake: UInt64 = 0
    var grants: Set<WakeID> = []
    /// Acts that suspended the app, which runs for a moment in between.
    var naps: [Int] = []
    var conditions = SyncConditions()
    /// The request of this run that tells the server that the sync is complete.
    var refreshing: TrafficID?
    /// The request of this run that asks whose progress it is.
    var identifying: TrafficID?
    /// What was on the disk when the app was launched last.
    private(set) var backup = (queue: KeptSyncQueue(), files: [String: [UInt8]]())
    /// What this run knows of the server; `nil` until it was asked.
    var offer: Offer?
    var takesGzip: Bool?
    /// How often source and store were compared.
    var compared: (source: Int64, store: Int)?
    var difference = (missing: 0, extra: 0)

    mutating func apply(_ step: SyncQueueStep) { queue.apply(step) }

    /// Remembers what is on the disk.
    mutating func backUp() { backup = (queue, files) }

    /// Puts the disk back to what was remembered; what the system uploads for the app ends.
    mutating func putBack() {
      (queue, files) = backup
      tickets = tickets.filter { files[$0.key] != nil }
      tasks = [:]
    }

    /// Lets all parked batches wait again.
    mutating func releaseAll() {
      for batch in queue.batches where batch.parked != nil {
        apply(.park(file: batch.file, reason: nil))
      }
    }

    /// Lets a type be read anew, as `holdfast health reset` does.
    mutating func reset(_ type: String) {
      apply(.anchor(type: type, nil))
      for batch in queue.batches where batch.type == type && batch.parked != nil {
        apply(.park(file: batch.file, reason: nil))
      }
    }
  }

  /// An upload that was handed over.
  struct Upload {
    var body: [UInt8]?
    var secret: Int
    var exchange: TrafficID?
    var tries = 0
    /// The methods of questions about the server that this try has made.
    var asked: Set<String> = []
    /// What is sent in pieces.
    var course: Course?
    /// Where the system goes on with it.
    var place: String?
    /// How it ended, while the app does not run.
    var outcome: UploadOutcome?
    /// The epoch that the answer names.
    var epoch: String?
  }

  init(
    _ plan: WorldPlan<SyncFeature>, _ setup: RunSetup<SyncFeature>, watch: RunWatch<SyncFeature>?
  ) {
    let count = plan.numbers.phones
    kernel = Kernel(plan, setup, watch: watch)
    seam = SyncSeam(setup.defect, phones: count)
    glances = Glances(chance: Chance(seed: plan.seed))
    let model = SyncModel(SyncSettings(policy: kernel.policy), seed: 0)
    clients = Array(repeating: model, count: count)
    phones = (0..<count).map {
      Phone(
        source: SyncSource(
          phone: $0, isVaried: plan.numbers.variety == 1, zone: SyncZone($0, seed: plan.seed)))
    }
    kernel.bench.views = clients.indices.map { index in
      var state = SyncFeature.State()
      (state.phone, state.depth) = (index, plan.numbers.depth)
      return PhoneView(
        Standing<SyncFeature>(policy: setup.policy, status: model.status, own: state))
    }
  }

  /// Whether the systems own the uploads.
  var isOwnedBySystem: Bool { kernel.plan.numbers.system == 1 }

  // Processes.

  mutating func boot(_ host: HostID) {
    switch host.kind {
    case .phone:
      let depth = seam.depth(kernel.plan.numbers.depth)
      let settings = SyncSettings(policy: kernel.policy, depth: depth)
      clients[host.index] = SyncModel(settings, seed: newSeed(host))
      kernel.bench.views[host.index].standing.own.restsUntil = nil
    case .backend: bootBackend()
    case .client, .peripheral, .system: return
    }
  }

  mutating func ended(_ host: HostID) {
    guard host.kind == .phone else { return }
    phones[host.index].grants = []
    phones[host.index].diskFree = .zero
    phones[host.index].observed = []
    phones[host.index].refreshing = nil
    phones[host.index].identifying = nil
    phones[host.index].refused = nil
    (phones[host.index].offer, phones[host.index].takesGzip) = (nil, nil)
    phones[host.index].conditions = SyncConditions()
    kernel.bench.views[host.index].standing.own.conditions = SyncConditions()
    if !isOwnedBySystem { phones[host.index].tasks = [:] }
  }

  mutating func tellApp(_ phone: HostID, isFirst: Bool) {
    tellConditions(phone)
    if isFirst { restore(phone) }
    if !isOwnedBySystem { reportLost(phone) }
    reportLostQuestions(phone)
    deliver(phone)
  }

  private mutating func restore(_ phone: HostID) {
    let index = phone.index
    let named = Set(phones[index].queue.batches.map(\.file))
    let missing = named.filter { phones[index].files[$0] == nil }
    for file in phones[index].files.keys where !named.contains(file) {
      phones[index].files[file] = nil
      phones[index].tickets[file] = nil
    }
    phones[index].backUp()
    phones[index].usedSecret = phones[index].secret
    let running = isOwnedBySystem ? Set(phones[index].tasks.keys) : []
    give(.restored(phones[index].queue, running: running, missing: missing), to: phone)
    give(.ask(phones[index].source.types), to: phone)
  }

  private mutating func tellConditions(_ phone: HostID) {
    let conditions = SyncConditions(
      isConstrained: isUnderWay(.lowData, on: phone),
      isExpensive: isUnderWay(.cellular, on: phone),
      isLowPower: isUnderWay(.lowPower, on: phone), isUnlocked: !isUnderWay(.locks, on: phone))
    guard conditions != phones[phone.index].conditions else { return }
    phones[phone.index].conditions = conditions
    kernel.bench.views[phone.index].standing.own.conditions = conditions
    give(.conditions(conditions), to: phone)
  }

  func isWanted(_ phone: HostID) -> Bool {
    let client = phone.index
    if clients[client].canWork, phones[client].tasks.isEmpty { return true }
    return clients[client].sending.contains { phones[client].tasks[$0] == nil }
  }

  mutating func look(_ phone: HostID) {
    let index = phone.index
    kernel.bench.views[index].standing.own.pending = clients[index].pending
    kernel.bench.views[index].standing.own.parked = clients[index].parked
    let isComplete = clients[index].isComplete && phones[index].due.isEmpty
    kernel.bench.views[index].standing.own.isComplete = isComplete
    if isComplete { compare(phone) }
  }

  /// Compares what the backend has with what the phone has.
  private mutating func compare(_ phone: HostID) {
    let index = phone.index
    let now = (source: phones[index].source.newest, store: backend.changes)
    if phones[index].compared.map({ $0 == now }) != true {
      phones[index].compared = now
      let stored = backend.kept.places(of: Self.user(index))
      let there = phones[index].source.places
      phones[index].difference = (
        there.subtracting(stored).count, stored.subtracting(there).count
      )
    }
    kernel.bench.views[index].standing.own.missing = phones[index].difference.missing
    kernel.bench.views[index].standing.own.extra = phones[index].difference.extra
  }

  static func user(_ phone: Int) -> String { "user-\(phone)" }

  // Defects.

  mutating func altered(_ input: SyncModel.Input, of phone: HostID) -> [SyncModel.Input] {
    seam.toPhone(input, phone.index)
  }

  mutating func altered(_ effect: SyncModel.Effect, of phone: HostID) -> [SyncModel.Effect] {
    seam.fromPhone(effect, phone.index)
  }

  // There are no lines.

  mutating func upgradeArrived(_ line: TrafficID, _ hello: Nothing, at server: HostID) {}
  mutating func arrived(_ packet: Feature.Packet?, on line: TrafficID, at server: HostID) {}
  func opened(_ attempt: AttemptID, _ packet: Feature.Packet) -> SyncModel.Input { .again }
  mutating func received(_ attempt: AttemptID, _ packet: Feature.Packet) -> SyncModel.Input {
    .again
  }

  // Calm.

  var isComplete: Bool {
    clients.indices.allSatisfy {
      phones[$0].due.isEmpty && phones[$0].grants.isEmpty && clients[$0].isComplete
        && SyncFeature.isHealed(kernel.bench.views[$0].standing)
    }
  }

  mutating func prepareCalm() {
    isCalm = true
    // A person sets another one on both ends, whatever was refused before.
    backend.secret += 1
    for phone in phones.indices { phones[phone].secret = backend.secret }
  }

  /// People look at their phones, where parked batches are to be sent again.
  mutating func becomeCalm() {
    for phone in kernel.phones { useAgain(phone) }
  }

  mutating func tryAgain() { becomeCalm() }

  private mutating func useAgain(_ phone: HostID) {
    if phones[phone.index].queue.batches.contains(where: { $0.parked != nil }) {
      restart(phone) { phone in phone.releaseAll() }
    }
    give(.again, to: phone)
    fireSoon(phone, within: .milliseconds(200))
  }

  /// Changes what the disk holds while the app does not run.
  mutating func restart(_ phone: HostID, _ change: (inout Phone) -> Void) {
    let wasThere = kernel.hosts[phone.place].process == .running
    if wasThere {
      kernel.hosts[phone.place].downs.append(-1)
      die(phone)
      kernel.hosts[phone.place].downs.removeAll { $0 == -1 }
    }
    if kernel.hosts[phone.place].process == .dead { change(&phones[phone.index]) }
    if wasThere { launchIfPossible(phone) }
  }

  mutating func happenLast() {
    for phone in kernel.phones {
      add(2, phone)
      change(deletes: true, 1, phone)
    }
  }

  mutating func leave() {
    checkUploads()
    for phone in kernel.phones {
      compare(phone)
      give(.stop, to: phone)
    }
    checkLooks()
    checkStranger()
  }
}
