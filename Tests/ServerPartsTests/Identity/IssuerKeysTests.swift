import HoldfastCore
import Testing

@testable import HoldfastIdentity

/// Tests of the times at which keys are fetched.
struct IssuerKeysTests {
  private static let first = [IssuerKeyTests.rsa("a", .rs256)]
  private static let second = [IssuerKeyTests.rsa("b", .rs256)]

  private static func at(_ seconds: Double) -> Instant {
    Instant.zero.advanced(by: .seconds(seconds))
  }

  /// Returns keys that were fetched at 0 s.
  private static func fetched(life: Duration? = nil) -> IssuerKeys {
    var keys = IssuerKeys(fetchedFrom: .zero)
    _ = keys.begin(at: .zero)
    _ = keys.fetched(first, life: life, at: .zero)
    return keys
  }

  @Test func `keys are fetched at the start, and one fetch is under way at a time`() {
    var keys = IssuerKeys(fetchedFrom: .zero)
    #expect(keys.deadline == .zero)
    #expect(keys.begin(at: .zero) == true)
    #expect(keys.deadline == nil)
    #expect(keys.begin(at: Self.at(100)) == false)
    #expect(keys.areAwaited(at: .zero))
    #expect(keys.fetched(Self.first, life: nil, at: Self.at(1)) == true)
    #expect(keys.keys == Self.first)
    #expect(!keys.areAwaited(at: Self.at(1)))
  }

  @Test(
    arguments: [
      (nil, 300.0), (Duration.zero, 300), (.seconds(299), 300), (.seconds(300), 300),
      (.seconds(301), 301), (.seconds(86_399), 86_399), (.seconds(86_400), 86_400),
      (.seconds(86_401), 86_400),
    ] as [(Duration?, Double)])
  func `keys are kept as the response says, from 5 minutes to a day`(
    life: Duration?, until: Double
  ) {
    #expect(Self.fetched(life: life).deadline == Self.at(until))
  }

  @Test func `a fetch is not due before its time`() {
    var keys = Self.fetched()
    #expect(keys.begin(at: Self.at(299.999)) == false)
    #expect(keys.begin(at: Self.at(300)) == true)
  }

  @Test func `a failed fetch keeps the former keys, and is repeated after a minute`() {
    var keys = Self.fetched()
    _ = keys.begin(at: Self.at(300))
    keys.failed(at: Self.at(301))
    #expect(keys.keys == Self.first)
    #expect(keys.deadline == Self.at(361))
  }

  @Test func `without keys, a failed fetch is repeated after 10 s, and clients after that`() {
    var keys = IssuerKeys(fetchedFrom: .zero)
    _ = keys.begin(at: .zero)
    #expect(keys.retryAfter(at: .zero) == .seconds(1))
    keys.failed(at: Self.at(2))
    #expect(keys.deadline == Self.at(12))
    #expect(keys.retryAfter(at: Self.at(2)) == .seconds(11))
    #expect(keys.retryAfter(at: Self.at(20)) == .seconds(1))
    #expect(keys.waits(forKey: "a", for: .rs256, at: Self.at(3)) == false)
  }

  @Test func `a known key never waits, whether it fits or not`() {
    var keys = Self.fetched()
    #expect(keys.waits(forKey: "a", for: .rs256, at: Self.at(1)) == false)
    #expect(keys.waits(forKey: "a", for: .es256, at: Self.at(1)) == false)
    #expect(keys.deadline == Self.at(300))
  }

  @Test func `an unknown key is fetched at once, and requests wait for that fetch`() {
    var keys = Self.fetched()
    #expect(keys.waits(forKey: "b", for: .rs256, at: Self.at(1)) == true)
    #expect(keys.deadline == Self.at(1))
    #expect(keys.begin(at: Self.at(1)) == true)
    #expect(keys.waits(forKey: "b", for: .rs256, at: Self.at(2)) == true)
    #expect(keys.fetched(Self.first + Self.second, life: nil, at: Self.at(2)) == true)
    #expect(keys.waits(forKey: "b", for: .rs256, at: Self.at(3)) == false)
  }

  @Test func `unknown keys are fetched once a minute at most`() {
    var keys = Self.fetched(life: .seconds(3_600))
    #expect(keys.waits(forKey: "b", for: .rs256, at: Self.at(1)) == true)
    _ = keys.begin(at: Self.at(1))
    #expect(keys.fetched(Self.first, life: .seconds(3_600), at: Self.at(2)) == false)
    #expect(keys.waits(forKey: "b", for: .rs256, at: Self.at(2)) == false)
    #expect(keys.waits(forKey: "c", for: .rs256, at: Self.at(60.999)) == false)
    #expect(keys.deadline == Self.at(3_602))
    #expect(keys.waits(forKey: "c", for: .rs256, at: Self.at(61)) == true)
  }

  @Test func `keys of a file are never fetched`() {
    var keys = IssuerKeys(Self.first)
    #expect(keys.deadline == nil)
    #expect(keys.waits(forKey: "b", for: .rs256, at: .zero) == false)
    keys.renew(at: .zero)
    #expect(keys.begin(at: .zero) == false)
    #expect(keys.replace(with: Self.first) == false)
    #expect(keys.replace(with: Self.second) == true)
    #expect(keys.keys == Self.second)
  }

  @Test func `an operator can have keys fetched before their time`() {
    var keys = Self.fetched()
    keys.renew(at: Self.at(5))
    #expect(keys.begin(at: Self.at(5)) == true)
    keys.renew(at: Self.at(5))
    #expect(keys.deadline == nil)
  }

  @Test func `reads responses`() throws {
    let body = IssuerKeyTests.document([IssuerKeyTests.json(#","alg":"RS256""#)])
    let answer = KeySetFetch.answered(
      status: 200, cacheControl: "public, max-age=600", age: "100", body: body)
    let (keys, life) = try answer.read()
    #expect(keys == Self.first && life == .seconds(500))
    let plain = KeySetFetch.answered(status: 200, cacheControl: nil, age: nil, body: body)
    #expect(try plain.read().life == nil)
    for other in [
      KeySetFetch.failed(reason: "refused"),
      .answered(status: 304, cacheControl: nil, age: nil, body: body),
      .answered(status: 200, cacheControl: nil, age: nil, body: []),
    ] {
      #expect(throws: KeySetFault.self) { try other.read() }
    }
  }
}
