import HoldfastBottleChecks
import HoldfastBottleLink
import HoldfastCore
import HoldfastHealth
import HoldfastHealthRelay
import HoldfastHealthSync
import HoldfastHeldChecks
import HoldfastHeldSocket
import HoldfastLinkChecks
import HoldfastLinkTrace
import HoldfastMessageChecks
import HoldfastMessageData
import HoldfastMessageStream
import HoldfastRelayChecks
import HoldfastRelayData
import HoldfastSession
import HoldfastSessionChecks
import HoldfastSyncChecks
import HoldfastSyncData
import HoldfastWorlds
import Testing

/// Tests that each case of each input and effect has a sentence. The cases are those that the
/// sources declare. Values come from simulated runs, and from `extra` where no run has one.
@Suite struct SentenceTests {
  @Test func `a message stream has a sentence for each case`() throws {
    let entry = OutboxEntry(
      id: UUID128(high: 1, low: 3), shop: try #require(ShopID("bakery")), text: "Rye",
      createdAt: Timestamp(nanoseconds: 0), image: OutboxImage(type: .png, size: 900))
    try check(
      StreamFeature.self, in: "Messages/Phone/StreamInput.swift", seeds: 1...2,
      inputs: [
        .loadFailed(Self.full), .olderFailed(Self.full), .discard(UUID128(high: 1, low: 2)),
        .commitFailed(CommitID(1), Self.full),
        .uploaded(entry.id, url: "https://shop.example/1.png", at: entry.createdAt),
        .uploadRefused(entry.id, try: TryID(1), reason: "the image is too large"),
      ],
      effects: [.upload(entry, try: TryID(1))])
  }

  @Test func `a health relay has a sentence for each case`() throws {
    try check(
      RelayFeature.self, in: "Health/Relay/Phone/RelayModel.swift", seeds: 1...2,
      inputs: [.resume(Secret("token"))],
      effects: [
        .fail(
          WorkID(1), #require(RelayRequestID("r1")), .summary, reason: "the phone is locked")
      ])
  }

  @Test func `a held socket has a sentence for each case`() throws {
    let first = AttemptID(1)
    try check(
      HeldFeature.self, in: "HeldSocket/Phone/SocketModel.swift", seeds: 1...2,
      inputs: [
        .makeStanding("key"), .storeFailed(3, detail: "the disk is full"), .credentials(.rejected),
      ],
      effects: [
        .ask(first), .refreshCredentials, .greet(first, subprotocol: nil, after: nil),
        .makeStanding(first, key: "key", after: nil),
      ])
  }

  @Test func `sessions have a sentence for each case`() throws {
    try check(
      SessionsFeature.self, in: "Session/Phone/SessionModel.swift", seeds: 1...2,
      inputs: [.reading(AttemptID(1), isPaused: true), .stopUnread],
      effects: [.refreshCredentials])
  }

  @Test func `a health sync has a sentence for each case`() throws {
    try check(
      SyncFeature.self, in: "Health/Sync/Phone/SyncModel+Input.swift", seeds: 1...2,
      inputs: [
        .notFetched(SyncFetchID(1), .locked(detail: "the phone is locked")), .notSplit("b", nil),
      ])
  }

  @Test func `a bottle has a sentence for each case`() throws {
    try check(
      BottleFeature.self, in: "Bottle/Phone/BottleModel.swift", seeds: 1...2,
      inputs: [.uncommitted(1, Self.full)])
  }

  private static let full = StoreFailure.full(detail: "no space is left")

  private func check<Feature: SimulatedFeature & TracedFeature>(
    _ feature: Feature.Type, in file: String, seeds: ClosedRange<UInt64>,
    inputs: [Feature.Input] = [], effects: [Feature.Effect] = []
  ) throws {
    var found = Sentences()
    for input in inputs { found.add(input, Feature.say(input)) }
    for effect in effects { found.add(effect, Feature.say(effect)) }
    for seed in seeds {
      for preset in Feature.presets {
        _ = Feature.play(.drawn(preset, seed: seed), RunSetup()) { seen, _ in
          switch seen {
          case .received(_, let input, _, let effects):
            found.add(input, Feature.say(input))
            for effect in effects { found.add(effect, Feature.say(effect)) }
          case .ticked(_, let effects):
            for effect in effects { found.add(effect, Feature.say(effect)) }
          case _: return
          }
        }
      }
    }
    let path = "Sources/" + file
    let declared = try ["Input", "Effect"].flatMap { try DeclaredCases.of($0, in: path) }
    #expect(declared.count > 10)
    let missing = Set(declared).subtracting(found.examples.keys)
    #expect(missing.isEmpty, "no value of \(missing.sorted())")
    #expect(found.wrong.isEmpty, "\(found.wrong.sorted { $0.key < $1.key })")
  }
}

/// The sentences that were found.
private struct Sentences {
  /// One sentence for each case.
  var examples: [String: String] = [:]
  /// One sentence that is not plain English for each case.
  var wrong: [String: String] = [:]
  /// The number of values of each case whose sentences were looked at.
  private var counts: [String: Int] = [:]

  mutating func add(_ value: Any, _ say: @autoclosure () -> String) {
    let name = CaseName.of(value)
    guard counts[name, default: 0] < 100 else { return }
    counts[name, default: 0] += 1
    let say = say()
    examples[name] = say
    if !Self.isPlain(say) { wrong[name] = say }
  }

  /// Returns whether a text is a sentence, and does not contain the description of a Swift value.
  private static func isPlain(_ say: String) -> Bool {
    let quoted = say.replacing(#/“[^”]*”/#, with: "“”")
    return say.count > 5 && !(say.first?.isLowercase ?? true) && say.hasSuffix(".")
      && !say.hasSuffix("..")
      && !quoted.contains(#/Holdfast|Optional|\bnil\b|: \.|\w\(|\[\]|_\d+:|  / /#)
  }
}
