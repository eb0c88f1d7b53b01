import Foundation
import Holdfast
import HoldfastFeaturePorts
import HoldfastPorts
import HoldfastTestKit
import HoldfastUI
import Testing

/// Tests of the target of the uploads that the system makes for an app.
@Suite(.timeLimit(.minutes(60))) @MainActor struct UploadTargetTests {
  @Test func `uploads have the server, the token and the files of the sync`() async throws {
    let scratch = try Scratch()
    let network = FakeNetwork(clock: BootClock())
    let links = HoldfastLinks(
      server: try #require(URL(string: "https://server.example")),
      directory: URL(filePath: scratch.path), ports: DevicePorts(network: network)
    ) { "token" }
    let target = try links.uploadTarget()
    #expect(target.server == "https://server.example")
    #expect(target.directory == links.syncDirectory)
    #expect(try await target.secret() == "token")
    // A phone without a sync has no identifier, and gets none by the question.
    #expect(target.deviceID() == nil && links.syncDeviceID == nil)
  }
}
