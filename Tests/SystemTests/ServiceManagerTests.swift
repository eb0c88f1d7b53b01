import Testing

@testable import HoldfastLinuxDevice

struct ServiceManagerTests {
  @Test(arguments: [
    (ServiceManager.State.ready("serves"), "READY=1\nSTATUS=serves"),
    (.reloading("reloads"), "RELOADING=1\nMONOTONIC_USEC=7\nSTATUS=reloads"),
    (.stopping("ends"), "STOPPING=1\nSTATUS=ends"),
  ])
  func `a state is reported by the variables of sd_notify`(
    state: ServiceManager.State, message: String
  ) {
    #expect(state.message(at: 7) == message)
  }

  @Test func `a status cannot add a variable`() {
    #expect(
      ServiceManager.State.ready("a\nSTOPPING=1\r\nb").message(at: 0)
        == "READY=1\nSTATUS=a STOPPING=1 b")
  }
}
