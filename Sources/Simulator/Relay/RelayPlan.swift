import LinkCore

/// Everything that a run of the relay's world does, as data.
///
/// Each trouble ends by itself, so that a plan stays sensible whatever is taken out of it.
public struct RelayPlan: Sendable, Hashable {
  /// The start of all chance.
  public var seed: UInt64
  /// The usual time of a packet, one way.
  public var delay: Duration
  /// By how much it varies at the most.
  public var jitter: Duration
  /// How long the backend's store takes.
  public var storeDelay: Duration
  /// How long a phone reads for an answer at the most.
  public var reading: Duration
  /// Whether phones tell where they can be woken.
  public var hasPush: Bool
  /// What happens, by time.
  public var actions: [Planned]
  /// When calm begins.
  public var length: Duration

  /// One thing and when it happens.
  public struct Planned: Sendable, Hashable {
    /// After the beginning.
    public var at: Duration
    /// What.
    public var action: Action
  }

  /// What somebody does, or what goes wrong for a time.
  public enum Action: Sendable, Hashable {
    /// An assistant asks, and leaves after so long if nobody answered.
    case asks(asker: Int, patience: Duration)
    case logsOut(asker: Int)
    /// The app of a phone goes to the background; one without a service is suspended there.
    case background(phone: Int, for: Duration)
    /// The process is killed and launched again by its user.
    case kill(phone: Int, for: Duration)
    /// The user stops the relay and starts it again, which ends its pairings.
    case stop(phone: Int, for: Duration)
    /// The phone has no way out, and knows.
    case unreachable(phone: Int, for: Duration)
    /// Its connections look open and nothing passes on them any more.
    case halfOpen(phone: Int)
    case reset(phone: Int)
    /// Nothing passes, for anybody, and nobody is told.
    case hole(for: Duration)
    /// Its health data take so long to read.
    case slowReading(phone: Int, for: Duration)
    case crash(for: Duration)
    case deploy(for: Duration)
    case slowStore(for: Duration)
  }
}

extension RelayPlan {
  /// How many phones and assistants a world has; the last two assistants share a phone.
  public static let phones = 2, askers = 3

  /// The plan of a seed: an hour and more.
  public static func drawn(seed: UInt64) -> RelayPlan {
    var draw = Draw(seed: seed ^ 0x88 << 40)
    var plan = RelayPlan(
      seed: seed, delay: draw.seconds(0.005, 0.2), jitter: draw.seconds(0.001, 0.4),
      storeDelay: draw.one(.milliseconds(2), .milliseconds(20), .milliseconds(300)),
      reading: draw.one(.milliseconds(100), .seconds(2), .seconds(12)),
      hasPush: draw.happens(0.5), actions: [], length: draw.seconds(3600, 5400))
    let end = Double(plan.length.components.seconds)
    for _ in 0..<draw.count(20...60) {
      let asker = draw.count(0...(askers - 1))
      let patience = draw.one(.seconds(60), .seconds(60), .seconds(60), draw.seconds(0.01, 30))
      let time = draw.seconds(30, end)
      plan.actions.append(Planned(at: time, action: .asks(asker: asker, patience: patience)))
    }
    for _ in 0..<draw.count(5...25) {
      let time = draw.seconds(30, end)
      plan.actions.append(Planned(at: time, action: trouble(&draw)))
    }
    plan.actions = plan.actions.enumerated()
      .sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(\.element)
    return plan
  }

  private static func trouble(_ draw: inout Draw) -> Action {
    let phone = draw.count(0...(phones - 1))
    switch draw.count(0...15) {
    case 0...2: return .background(phone: phone, for: draw.seconds(1, 400))
    case 3: return .kill(phone: phone, for: draw.seconds(0.1, 100))
    case 4: return .stop(phone: phone, for: draw.seconds(0.1, 60))
    case 5, 6: return .unreachable(phone: phone, for: draw.seconds(0.5, 200))
    case 7: return .halfOpen(phone: phone)
    case 8, 9: return .reset(phone: phone)
    case 10: return .hole(for: draw.seconds(1, 90))
    case 11: return .slowReading(phone: phone, for: draw.seconds(5, 200))
    case 12, 13: return .crash(for: draw.seconds(0.5, 60))
    case 14: return .deploy(for: draw.seconds(0.5, 60))
    case _:
      return draw.happens(0.5)
        ? .slowStore(for: draw.seconds(5, 100)) : .logsOut(asker: draw.count(0...(askers - 1)))
    }
  }
}

extension RelayPlan.Action {
  /// How long it lasts; `nil` for what is over at once.
  var span: Duration? {
    switch self {
    case .background(_, let span), .kill(_, let span), .stop(_, let span),
      .unreachable(_, let span), .hole(let span), .slowReading(_, let span), .crash(let span),
      .slowStore(let span):
      span
    // The drain takes 10 s at most.
    case .deploy(let span): span + .seconds(11)
    case .asks, .logsOut, .halfOpen, .reset: nil
    }
  }
}
