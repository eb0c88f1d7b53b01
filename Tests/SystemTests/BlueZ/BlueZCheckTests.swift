import HoldfastTestKit
import Testing

@testable import HoldfastBlueZ

/// Tests of the initial check of whether Bluetooth can be used.
@Suite(.enabled(if: PrivateBus.works, "needs dbus-daemon"), .timeLimit(.minutes(60)))
struct BlueZCheckTests {
  private static func problem(
    _ address: String, adapter: String? = nil
  ) -> BlueZProblem? {
    do throws(BlueZProblem) {
      try BlueZCheck.run(adapter: adapter, address: address)
      return nil
    } catch {
      return error
    }
  }

  @Test func `an existing adapter is usable even if it is off`() async throws {
    let bus = try await PrivateBus()
    let bluez = try await FakeBlueZ(address: bus.address, .init(isPowered: false))
    #expect(Self.problem(bus.address) == nil)
    #expect(Self.problem(bus.address, adapter: "hci0") == nil)
    #expect(Self.problem(bus.address, adapter: "hci1") == .noAdapter("hci1", others: ["hci0"]))
    await bluez.end()
  }

  @Test func `reports a missing bus, daemon or adapter`() async throws {
    #expect(Self.problem("unix:path=/nowhere") == .noBus("connect: No such file or directory"))
    let bus = try await PrivateBus()
    #expect(Self.problem(bus.address) == .noDaemon)
    let bluez = try await FakeBlueZ(address: bus.address, .init(hasAdapter: false))
    #expect(Self.problem(bus.address) == .noAdapter(nil, others: []))
    await bluez.end()
  }

  @Test func `every problem has a remedy`() {
    let problems: [BlueZProblem] = [
      .noBus("x"), .noDaemon, .notAllowed, .noAdapter(nil, others: []),
      .noAdapter("hci1", others: ["hci0", "hci2"]), .noAdapter("hci1", others: []),
    ]
    for problem in problems { #expect(!problem.text.isEmpty && !problem.remedy.isEmpty) }
    #expect(problems[4].remedy == "choose one of hci0, hci2")
  }
}
