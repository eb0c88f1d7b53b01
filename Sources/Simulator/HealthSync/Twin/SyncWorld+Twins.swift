import HealthSync
import LinkCore
import LinkWire

// The phones' models beside their twins.
extension SyncWorld {
  mutating func stepped(
    _ input: SyncModel.Input?, _ effects: [SyncModel.Effect], at time: Instant, of phone: HostID
  ) {
    let model = clients[phone.index]
    if let stray = twins[phone.index].stray(of: model, after: input, effects, at: time) {
      note(.strayed(stray))
    }
  }

  /// Lets anything happen to a phone of its own, or be said between phone and server.
  mutating func checkWalk() {
    guard kernel.hosts[server.place].isRunning else { return }
    var chance = Chance(seed: kernel.hosts[server.place].chance.next())
    var stray: String?
    if chance.next() % 2 == 0 {
      var walk = SyncPhoneWalk(.healthSync, chance)
      stray = walk.walk(200)
    } else {
      var walk = SyncWireWalk(chance)
      stray = walk.walk()
    }
    if let stray { note(.strayed(stray)) }
  }
}

extension SyncTwin: Twin {
  static var name: String { "the phone" }

  func difference(from model: SyncModel, after input: SyncModel.Input?) -> String? {
    let (stands, mustStand) = (SyncGlance(model), glance)
    return stands == mustStand ? nil : "says that it is \(stands), not \(mustStand)"
  }
}

/// How a sync says that it stands.
struct SyncGlance: Equatable {
  var sending: [String]
  var pending: Int
  var parked: Int
  var isComplete: Bool
  var canWork: Bool
  var isStopped: Bool
  var standing: SyncStanding
}

extension SyncGlance {
  init(_ model: SyncModel) {
    self.init(
      sending: model.sending, pending: model.pending, parked: model.parked,
      isComplete: model.isComplete, canWork: model.canWork, isStopped: model.isStopped,
      standing: model.standing)
  }
}
