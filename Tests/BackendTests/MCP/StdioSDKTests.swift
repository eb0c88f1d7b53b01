import Foundation
import Glibc
import HoldfastTestKit
import Testing

/// Tests of `holdfast mcp` with the official SDKs, which start the program themselves.
@Suite(
  .enabled(
    if: Assistant.SDK.areInstalled,
    "needs the Python SDK of MCP: run scripts/peers where there is a network"),
  .offThePool, .serialized, .timeLimit(.minutes(60)))
struct StdioSDKTests {
  private static let span = #""start_time":"2026-03-01","end_time":"2026-03-04""#
  private static let steps = #""value_type":"STEPS","group_by":"TOTAL","# + span

  @Test(arguments: Assistant.Kind.all)
  func `an assistant starts the program, lists the tools and gets the numbers`(
    kind: Assistant.Kind
  ) async throws {
    let scratch = try Scratch()
    let data = try await StdioRig.imported(scratch)
    let (assistant, version) = try await Assistant.connect(kind, starting: ["mcp"] + data)
    #expect(version == kind.version)
    let tools = try await assistant.order("list").tools ?? []
    #expect(tools.contains("get_health_metrics") && tools.contains("get_summary"))
    #expect(!tools.contains("direct_login") && !tools.contains("logout"))
    let answer = try await assistant.call("get_health_metrics", Self.steps)
    #expect(answer.structured?.success == true, "\(answer)")
    #expect(answer.structured?.healthData?.map(\.value).contains(600) == true, "\(answer)")
    #expect(answer.isTold == true)
    let bad = try await assistant.call("get_summary", #""start_time":"soon""#)
    #expect(bad.structured?.error == "invalid_arguments")
    #expect(try await assistant.call("nope").structured?.error == "unknown_tool")
    await assistant.leave()
  }

  @Test(arguments: Assistant.Kind.all)
  func `fifty questions at once have fifty answers`(kind: Assistant.Kind) async throws {
    let scratch = try Scratch()
    let data = try await StdioRig.imported(scratch)
    let (assistant, _) = try await Assistant.connect(kind, starting: ["mcp"] + data)
    var calls: [Int] = []
    for number in 0..<50 {
      let type = number % 2 == 0 ? "STEPS" : "SLEEP"
      calls.append(
        await assistant.beginCall(
          "get_health_metrics", #""value_type":"\#(type)","group_by":"TOTAL","# + Self.span))
    }
    for (number, call) in calls.enumerated() {
      let answer = try await assistant.answer(to: call)
      #expect(answer.structured?.value_type == (number % 2 == 0 ? "STEPS" : "SLEEP"))
    }
    await assistant.leave()
  }

  @Test(arguments: Assistant.Kind.all)
  func `without data the answer names the command that imports`(kind: Assistant.Kind) async throws {
    let scratch = try Scratch()
    let (assistant, _) = try await Assistant.connect(
      kind, starting: ["mcp", "--data", scratch("data")])
    let answer = try await assistant.call("get_health_metrics", Self.steps)
    #expect(answer.isError == true)
    #expect(answer.structured?.error == "no_data")
    let command = "`holdfast health import export.zip --data \(scratch("data"))`"
    #expect(answer.structured?.message?.contains(command) == true, "\(answer)")
    await assistant.leave()
  }

  @Test func `an export is imported first, and again when it changes`() async throws {
    let scratch = try Scratch()
    let path = scratch("export.xml")
    try StdioRig.export(steps: 100).write(to: URL(filePath: path))
    let (assistant, _) = try await Assistant.connect(
      Assistant.Kind.all[2],
      starting: ["mcp", "--data", scratch("data"), "--time-zone", "UTC", "--watch", path])
    let first = try await assistant.call("get_health_metrics", Self.steps)
    #expect(first.structured?.healthData?.first?.value == 300, "\(first)")
    try StdioRig.export(steps: 250, day: 6).write(to: URL(filePath: path))
    // The file is imported after two equal looks, 2 s apart. Each of these calls takes a turn.
    var value = 0.0
    while value != 750 {
      let again = try await assistant.call("get_health_metrics", Self.steps)
      value = try #require(again.structured?.healthData?.first?.value)
    }
    await assistant.leave()
  }

  /// Tests only SDK 2, because SDK 1 cannot cancel a call.
  @Test func `a cancelled call has no answer, and the next one has`() async throws {
    let scratch = try Scratch()
    // The import waits for the writer of the pipe, and the question for the import.
    let pipe = scratch("export.xml")
    let made = unsafe mkfifo(pipe, 0o600)
    try #require(made == 0)
    let writer = unsafe open(pipe, O_RDWR)
    defer { close(writer) }
    let (assistant, _) = try await Assistant.connect(
      Assistant.Kind.all[2], starting: ["mcp", "--data", scratch("data"), "--watch", pipe])
    let call = await assistant.beginCall("get_health_metrics", Self.steps)
    // The call was sent before this one, which does not wait for the import.
    _ = try await assistant.order("list")
    await assistant.begin("cancel", #""call":\#(call)"#)
    #expect(try await assistant.answer(to: call).cancelled == true)
    #expect(try await assistant.order("list").tools?.isEmpty == false)
    await assistant.leave()
  }
}
