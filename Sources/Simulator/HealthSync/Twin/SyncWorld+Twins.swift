import HealthSync
import LinkCore
import LinkWire

// The phones' models beside their twins.
extension SyncWorld {
  mutating func stepped(
    _ input: SyncModel.Input?, _ effects: [SyncModel.Effect], at time: Instant, of phone: HostID
  ) {
    guard var twin = twins[phone.index].take() else { return }
    let stray = twin.stray(of: clients[phone.index], after: input, effects, at: time)
    twins[phone.index] = stray == nil ? twin : nil
    if let stray { note(.strayed(stray)) }
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

extension SyncTwin {
  /// Takes a step, and returns what a model did otherwise in it.
  mutating func stray(
    of model: SyncModel, after input: SyncModel.Input?, _ effects: [SyncModel.Effect],
    at time: Instant
  ) -> String? {
    let must = step(input, at: time)
    if effects != must {
      let place = zip(effects, must).prefix { $0 == $1 }.count
      let (one, two) = (effects.dropFirst(place).first, must.dropFirst(place).first)
      return "the phone asks for \(Self.short(one)), and must for \(Self.short(two))"
    }
    if model.deadline != deadline {
      return "the phone waits until \(Self.short(model.deadline)), not \(Self.short(deadline))"
    }
    let (stands, mustStand) = (SyncGlance(model), glance)
    return stands == mustStand ? nil : "the phone says that it is \(stands), not \(mustStand)"
  }

  private static func short(_ value: (some Any)?) -> String {
    value.map { String("\($0)".prefix(400)) } ?? "nothing"
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
