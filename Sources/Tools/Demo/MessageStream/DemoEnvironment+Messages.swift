import Holdfast
import HoldfastBackend
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastMessageServer
import HoldfastOwnerFiles
import HoldfastPorts
import HoldfastTestKit

extension DemoPolicy {
  /// Returns the policy of the server, which sends pings every second instead of every 54 s.
  static func server(offersStream: Bool) -> ShopServerPolicy {
    var policy = ShopServerPolicy()
    policy.pingInterval = .seconds(1)
    policy.pongWait = .seconds(4)
    policy.offersStream = offersStream
    return policy
  }
}

extension DemoEnvironment {
  func startCustomers() async throws(DemoFailure) {
    let end = BootClock().wall.advanced(by: .seconds(3600))
    var tokens: [String] = []
    for name in Customers.names { tokens.append(try token(of: name, until: end)) }
    await customers.start(tokens: tokens)
  }

  /// Writes a new token to the file from which the phone reads its token.
  func giveToken(until expiry: Timestamp) throws(DemoFailure) {
    let file = OwnerFile(scratch("token"), maxBytes: 8_192, isSecret: true)
    let token = try token(of: "phone", until: expiry)
    try Self.checked { () throws(OwnerFileError) in try file.replace(with: Array(token.utf8)) }
  }

  /// Returns a signed token. The server does not have to be running.
  private func token(of user: String, until expiry: Timestamp) throws(DemoFailure) -> String {
    let tokens = try Self.checked { () throws(BackendError) in
      try Tokens.open(in: server.directory)
    }
    return tokens.issue(user: user, name: user, shops: [customers.shop], until: expiry)
  }

  /// Returns the number of messages that have arrived through catch-up or polling.
  func caughtUp() async -> Int {
    let via = await scene.facts.via
    return via["catchUp", default: 0] + via["poll", default: 0]
  }

  /// Returns the condition that all messages accepted so far are shown and that the status fits.
  ///
  /// Messages for which earlier scenarios have already waited are ignored.
  func allShown(
    while isFit: @escaping @Sendable (AppLine.Status) -> Bool = \.isConnected
  ) async -> Scene.Condition {
    let missing = await scene.facts.unseen.subtracting(awaited)
    awaited.formUnion(missing)
    return { isFit($0[.messages].status) && $0.unseen.isDisjoint(with: missing) }
  }

  /// Compares all messages after the phone has ended.
  func compareMessages() async {
    let facts = await scene.facts
    let found = await MessageChecker.compare(facts, in: scratch("phone"), shop: customers.shop)
    ledger.counts = found.counts
    ledger.faults += found.faults
    ledger.faults += await customers.faults(accepted: facts.accepted.count)
  }
}

extension MessageChecker {
  /// Compares the messages that the server accepted with those that a phone showed, and stored in
  /// `directory`. Returns the counts, and descriptions of further failures.
  static func compare(
    _ facts: Scene.Facts, in directory: String, shop: ShopID
  ) async -> (counts: Counts, faults: [String]) {
    var checker = MessageChecker(accepted: facts.accepted, runs: facts.runs)
    var faults: [String] = []
    do throws(StoreFailure) {
      let store = try await HoldfastPlatform.store(in: directory, forReading: true)
      let timeline = try await store.load(shop, limit: facts.accepted.count * 2 + 1)
      await store.close()
      checker.timeline = timeline.messages.map { MessageChecker.Entry(key: $0.key, text: $0.text) }
      if !timeline.gaps.isEmpty {
        faults.append("the timeline has \(timeline.gaps.count) holes")
      }
    } catch {
      faults.append("the phone's store cannot be read: \(error)")
    }
    return (checker.counts, faults)
  }
}
