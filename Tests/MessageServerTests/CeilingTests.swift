import HoldfastCore
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastServerFixtures
import HoldfastServerParts
import Testing

/// Tests of the maximums of sockets below, at and above their value, and of what metrics tell of them.
struct CeilingTests {
  @Test(arguments: [(1, 0), (2, 0), (3, 1)])
  func `streams up to the maximum open, and metrics tell it`(count: Int, refused: Int) {
    var served = Served.opened { $0.maxConnections = 2 }
    for number in 1..<count {
      _ = served.upgrade(UInt64(number + 1), as: Stage.token("user\(number)"))
    }
    #expect(served.server.ceiling("streams") == (2, min(count, 2), refused))
  }

  @Test(arguments: [(1, 0), (2, 0), (3, 1)])
  func `sockets of a user up to the maximum open`(count: Int, refused: Int) {
    var served = Served.opened { $0.socketsPerUser = 2 }
    for number in 1..<count { _ = served.upgrade(UInt64(number + 1)) }
    served.open(9, as: Stage.token("bob"))
    #expect(served.server.ceiling("sockets_per_user") == (2, min(count, 2), refused))
  }

  @Test func `a post too fast, a drain and a lost lease are told as such`() throws {
    var served = Served.opened { $0.postBurst = 1 }
    _ = try served.post("one")
    _ = served.ask(.send(Stage.draft("two", key: nil)))
    #expect(served.server.ceiling("rate").refusals == 1)
    _ = served.take(.nodes(.cutOff))
    _ = served.upgrade(2, as: Stage.token("bob"))
    #expect(served.server.ceiling("no_lease").refusals == 1)
    _ = served.take(.drain(within: .seconds(1)))
    _ = served.upgrade(3, as: Stage.token("bob"))
    #expect(served.server.ceiling("draining").refusals == 1)
  }
}
