import LinkCore
import LinkHealth
import LinkServerCore
import LinkWire
import Testing

@testable import LinkSimulator

/// The second account of the relay's server: it says the right thing, and it can find a fault.
@Suite struct RelayTwinTests {
  private static let wall = Timestamp(nanoseconds: 0)
  private static let arrival = RelayServer.Input.phoneOpened(
    ConnectionID(1), RelayServer.Arrival(address: "a"), wall: wall)

  @Test(arguments: [
    (#"{"count":1,"health_data":[]}"#, "count is 1, but there are 0 points"),
    (#"{"count":-1}"#, "count is no number of points"),
    (#"{"health_data":{}}"#, "health_data is no list"),
    (#"{"health_data":[1]}"#, "health_data holds something that is no object"),
    (#"{"health_data":[{"type":"a","date_to":"b"}]}"#, "a point has no date_from"),
    (#"{"truncated":0}"#, "truncated is not true or false"),
    (#"{"start_time":0}"#, "start_time is not a text"),
  ])
  func `the account names the first fault of an answer`(text: String, fault: String) {
    #expect(RelayHouseShape.fault(Array(text.utf8), .healthData) == fault)
  }

  @Test func `the account lets pass what contracts allow`() {
    let point = #"{"type":"a","value":1,"date_from":"b","date_to":"c"}"#
    let data = #"{"count":1,"health_data":[\#(point)],"truncated":null}"#
    #expect(RelayHouseShape.fault(Array(data.utf8), .healthData) == nil)
    let summary = #"{"results":[{"data":{"count":"a"}}],"health_data":0}"#
    #expect(
      RelayHouseShape.fault(Array(summary.utf8), .summary)
        == "data of a result: count is no number of points")
  }

  @Test func `the account locks out an address and its network`() {
    var policy = RelayServerPolicy()
    (policy.wrongPairs, policy.wrongPairsOfNetwork) = (2, 3)
    var lock = RelayHouseLock(policy, at: .zero)
    let address = "00000000000000aa"
    lock.wrong(address, .zero)
    #expect(lock.wait(address, .zero) == nil)
    lock.wrong(address, .zero)
    #expect(lock.wait(address, .zero) == .seconds(900))
    #expect(lock.wait("00000000000000ab", .zero) == nil)
    lock.wrong("00000000000000ab", .zero)
    #expect(lock.wait("00000000000000ac", .zero) == .seconds(900))
    #expect(lock.wait("00000000000100ac", .zero) == nil)
    #expect(lock.wait(address, .second(900)) == nil)
  }

  @Test func `the account tells waits as people read them`() {
    #expect(RelayHouseWords.wait(.zero) == "1 s")
    #expect(RelayHouseWords.wait(.milliseconds(118_001)) == "119 s")
    #expect(RelayHouseWords.wait(.milliseconds(119_001)) == "2 min")
  }

  @Test func `the account names an access by its first bytes`() throws {
    let token = try #require(TokenHash([0x0A, 0xFF] + [UInt8](repeating: 0, count: 30)))
    #expect(RelayHouse.name(of: token) == "0aff00000000")
  }

  @Test func `the account takes no number that is too small`() {
    var policy = RelayServerPolicy()
    (policy.lease, policy.maxCalls) = (.zero, -1)
    #expect(RelayHouse.least(policy).lease == .milliseconds(1))
    #expect(RelayHouse.least(policy).maxCalls == 1)
    #expect(RelayHouse.strayOfNumbers() == nil)
    #expect(RelayHouse.strayOfNumbers(policy) != nil)
  }

  @Test func `a server that asks for more or less than it must is found`() {
    var server = RelayServer(life: "a", at: .zero)
    let effects = server.handle(Self.arrival, at: .zero)
    #expect(effects.count == 2)
    var house = RelayHouse(RelayServerPolicy(), life: "a", at: .zero)
    #expect(house.stray(of: server, after: Self.arrival, effects, at: .zero) == nil)
    #expect(house.strayOfPages(server) == nil)
    #expect(house.strayOfPages(RelayServer(life: "a", at: .zero)) != nil)
    house = RelayHouse(RelayServerPolicy(), life: "a", at: .zero)
    #expect(house.stray(of: server, after: Self.arrival, [], at: .zero) != nil)
    var policy = RelayServerPolicy()
    policy.pingInterval = .seconds(9)
    house = RelayHouse(policy, life: "a", at: .zero)
    #expect(house.stray(of: server, after: Self.arrival, effects, at: .zero) != nil)
  }

  @Test func `a walk finds a server that waits otherwise`() throws {
    func finding(_ act: (inout RelayServerWalk) -> Void) throws -> String? {
      try RelayServerWalk.finding { walk in
        walk.server = RelayServer(life: "a", at: .zero)
        walk.house = RelayHouse(RelayServerPolicy(), life: "a", at: .zero)
        act(&walk)
      }
    }
    #expect(try finding { $0.give(Self.arrival) } == nil)
    let late = try finding { walk in
      _ = walk.server.handle(Self.arrival, at: .zero)
      walk.give(nil)
    }
    #expect(late?.hasPrefix("the relay waits until ") == true)
  }

  @Test func `a walk finds a server that takes an answer of another shape`() throws {
    let bytes = Array(#"{"count":-1}"#.utf8)
    let (ask, object) = (AskID(1), HealthObject(succeeded: true, bytes: bytes))
    let refusal = RelayRefusal.malformed(reason: "count is no number of points")
    func difference(_ outcome: RelayOutcome) -> String? {
      RelayShapeWalk.difference([.answer(ask, outcome)], to: ask, of: object, .healthData)
    }
    #expect(difference(.refused(refusal)) == nil)
    #expect(difference(.data(object))?.hasPrefix("an answer becomes [") == true)
    let silent = try RelayShapeWalk.finding { walk in
      _ = walk.server.handle(.drain(within: .seconds(1)), at: .zero)
      walk.stray = walk.walk(1)
    }
    #expect(silent?.hasPrefix("nothing is asked: ") == true)
  }

  @Test(arguments: 1...40 as ClosedRange<UInt64>)
  func `a relay to which anything is said does what it must`(seed: UInt64) {
    var walk = RelayServerWalk(Chance(seed: seed))
    #expect(walk.walk(200) == nil)
    var shapes = RelayShapeWalk(Chance(seed: seed))
    #expect(shapes.walk(40) == nil)
  }
}
