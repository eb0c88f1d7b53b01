import LinkServerCore
import Testing

/// The hosts that are let in.
struct WebDoorsTests {
  @Test(arguments: ["", ":80", ":"])
  func `a host without a name is let in nowhere`(host: String) {
    var doors = WebDoors()
    doors.ownName = ""
    #expect(!doors.admit(host: host))
  }
}
