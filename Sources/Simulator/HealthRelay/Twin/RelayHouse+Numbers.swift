import LinkCore
import LinkServerCore

// The numbers that the relay goes by, written out.
extension RelayHouse {
  /// A number of the policy: what it usually is, and what it may be in a walk.
  struct Number<Value: Sendable>: Sendable {
    let path: any WritableKeyPath<RelayServerPolicy, Value> & Sendable
    let usual: Value
    let others: [Value]
  }

  private static func times(
    _ path: any WritableKeyPath<RelayServerPolicy, Duration> & Sendable, _ usual: Int,
    _ others: [Int]
  ) -> Number<Duration> {
    Number(path: path, usual: .milliseconds(usual), others: others.map { .milliseconds($0) })
  }

  /// Every time in milliseconds: what is less than one of them counts as one.
  static let times: [Number<Duration>] = [
    times(\.pairLife, 600_000, [4_000, 30_000, 600_000]),
    times(\.tokenLife, 7_200_000, [9_000, 60_000, 7_200_000]),
    times(\.tokenMemory, 3_600_000, [2_000, 20_000]),
    times(\.grace, 600_000, [3_000, 12_000, 600_000]),
    times(\.wrongWindow, 600_000, [3_000, 9_000]),
    times(\.lockOut, 900_000, [4_000, 9_000]),
    times(\.wrongInterval, 100, [1_000, 2_000]),
    times(\.callLimit, 45_000, [5_000, 12_000, 45_000]),
    times(\.returnWait, 10_000, [2_000, 4_000]),
    times(\.lease, 25_000, [2_000, 6_000, 25_000]),
    times(\.pushGap, 20_000, [1_000, 4_000]),
    times(\.pushInterval, 180_000, [1_000, 5_000]),
    times(\.pingInterval, 25_000, [3_000, 7_000, 25_000]),
    times(\.pongWait, 60_000, [5_000, 60_000, 60_000]),
    times(\.closeWait, 5_000, [2_000, 5_000]),
    times(\.drainGrace, 1_000, [1_000, 3_000]),
    times(\.drainLimit, 10_000, [1_000, 2_000, 8_000]),
    times(\.storeRetry, 5_000, [2_000, 5_000]),
  ]

  private static func bounds(
    _ path: any WritableKeyPath<RelayServerPolicy, Int> & Sendable, _ usual: Int, _ others: [Int]
  ) -> Number<Int> {
    Number(path: path, usual: usual, others: others)
  }

  /// Every count: what is less than one counts as one.
  static let bounds: [Number<Int>] = [
    bounds(\.wrongPairs, 5, [1, 2, 3, 4]),
    bounds(\.floodWrongPairs, 2, [1, 5, 2]),
    bounds(\.wrongPairsOfNetwork, 50, [2, 3, 4]),
    bounds(\.wrongBurst, 600, [1, 2, 4]),
    bounds(\.maxWatchedAddresses, 100_000, [1, 2, 3, 100]),
    bounds(\.maxLeased, 8, [1, 2, 8]),
    bounds(\.pushBurst, 6, [1, 2]),
    bounds(\.maxSockets, 10_000, [2, 4, 100]),
    bounds(\.socketsPerAddress, 256, [2, 3, 100]),
    bounds(\.maxPhones, 20_000, [2, 3, 100]),
    bounds(\.tokensPerPhone, 8, [1, 2, 3]),
    bounds(\.callsPerPhone, 16, [1, 2, 4]),
    bounds(\.maxCalls, 4_096, [2, 4, 100]),
    bounds(\.maxWrites, 4_096, [2, 5, 100]),
    bounds(\.maxSettled, 32, [1, 2]),
    bounds(\.maxAnswerBytes, 8_388_608, [36, 60, 400]),
    bounds(\.maxGatheredBytes, 67_108_864, [40, 70, 400]),
  ]

  /// The policy, of which nothing is less than it can be.
  static func least(_ policy: RelayServerPolicy) -> RelayServerPolicy {
    var policy = policy
    for time in times where policy[keyPath: time.path] < .milliseconds(1) {
      policy[keyPath: time.path] = .milliseconds(1)
    }
    for bound in bounds where policy[keyPath: bound.path] < 1 { policy[keyPath: bound.path] = 1 }
    return policy
  }

  /// The default numbers of a relay that are otherwise.
  static func strayOfNumbers(_ policy: RelayServerPolicy = RelayServerPolicy()) -> String? {
    for (place, time) in times.enumerated() where policy[keyPath: time.path] != time.usual {
      return "time \(place) of the relay is \(policy[keyPath: time.path]), not \(time.usual)"
    }
    for (place, bound) in bounds.enumerated() where policy[keyPath: bound.path] != bound.usual {
      return "bound \(place) of the relay is \(policy[keyPath: bound.path]), not \(bound.usual)"
    }
    return policy.busyRetry == .seconds(2) ? nil : "the relay is busy for \(policy.busyRetry)"
  }
}

extension RelayHouse {
  /// A policy by chance: most bounds are wide, and seldom a number is too small.
  static func drawn(_ chance: inout Chance) -> RelayServerPolicy {
    var policy = RelayServerPolicy()
    if chance.next() % 12 == 0 { return policy }
    let zero = Int(chance.next() % 150)
    for (place, time) in times.enumerated() {
      let value = time.others[Int(chance.next() % UInt64(time.others.count))]
      policy[keyPath: time.path] = place == zero ? .zero : value
    }
    for (place, bound) in bounds.enumerated() {
      let most = chance.next() % 3 == 0 ? bound.others.count : 1
      let value = bound.others[bound.others.count - 1 - Int(chance.next() % UInt64(most))]
      policy[keyPath: bound.path] = place + times.count == zero ? 0 : value
    }
    return policy
  }
}
