import Foundation
import HoldfastTestKit
import Testing

@testable import HoldfastDemo

/// Tests of `holdfast demo --cluster`, and of the files in `packaging/cluster`.
@Suite(.timeLimit(.minutes(60))) struct DemoClusterTests {
  static let remedy: Comment = "needs servers: apt-get install postgresql haproxy nats-server"

  @Test(.enabled(if: ClusterDemo.isPossible, remedy))
  func `a node, reports and the primary end, nothing is lost, and nothing is left behind`()
    async throws
  {
    try await CommandProcess.scratch { directory in
      let outcome = try await CommandProcess.run(
        "demo", "--cluster", "--json", "--chapter", "primary", "--chapter", "nodeA", "--chapter",
        "reports", "--work", "600s", environment: ["TMPDIR": directory])
      let narration = outcome.output.joined(separator: "\n")
      #expect(outcome.status == 0, "\(narration)")
      #expect(outcome.errors == [])
      let events = try outcome.output.map { try [String: Any].reading($0) }
      #expect(
        events.compactMap { $0["title"] as? String } == [
          "Node a is killed", "The reports between the nodes are cut",
          "The primary is killed, and the standby promoted", "Calm",
        ])
      let ledger = try #require(events.last)
      #expect(ledger["clean"] as? Bool == true, "\(narration)")
      let messages = try #require(ledger["messages"] as? [String: Int])
      let posted = try #require(messages["posted"])
      #expect(posted > 0)
      #expect(messages["acknowledged"] == posted && messages["received"] == posted)
      for fault in ["lost", "duplicated", "outOfOrder"] {
        #expect(messages[fault] == 0, "\(fault)")
      }
      #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == [])
      #expect(DemoRunTests.processes(naming: directory) == [])
    }
  }

  @Test(.enabled(if: ClusterDemo.isPossible, remedy))
  func `ends all that it has started when it is interrupted`() async throws {
    try await CommandProcess.scratch { directory in
      let demo = try CommandProcess.start(
        ["demo", "--cluster", "--work", "600s"], environment: ["TMPDIR": directory])
      for await line in demo.lines where line.contains("dies by kill -9") { demo.signal(SIGINT) }
      var errors: [String] = []
      for await line in demo.diagnostics { errors.append(line) }
      #expect(await demo.exit() == 1)
      #expect(errors == ["holdfast demo: interrupted before its end"])
      #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == [])
      #expect(DemoRunTests.processes(naming: directory) == [])
    }
  }

  @Test func `refuses chapters of the other demo, and options that it has no use for`()
    async throws
  {
    let cut = try await CommandProcess.run("demo", "--cluster", "--chapter", "cut")
    #expect(cut.status == 2 && cut.errors.joined().contains("cut is a chapter without --cluster"))
    let node = try await CommandProcess.run("demo", "--chapter", "nodeA")
    #expect(node.status == 2 && node.errors.joined().contains("nodeA is a chapter with --cluster"))
    let page = try await CommandProcess.run("demo", "--cluster", "--html", "page.html")
    #expect(page.status == 2)
  }

  @Test func `the names of chapters differ from those of the usual demo`() {
    #expect(Set(Demo.names + ClusterDemo.names).count == Demo.names.count + ClusterDemo.names.count)
  }

  @Test func `an operator's balancer has the configuration of the demo`() throws {
    let file = PageCheck.package.appending(path: "packaging/cluster/haproxy.cfg")
    let text = try String(contentsOf: file, encoding: .utf8)
    let own = Balancer.configuration(
      listening: ":443 ssl crt /etc/haproxy/holdfast.pem",
      nodes: [("a", "10.0.0.1:8787"), ("b", "10.0.0.2:8787"), ("c", "10.0.0.3:8787")])
    let lines = text.split(separator: "\n").filter { !$0.hasPrefix("#") }
    #expect(lines == own.split(separator: "\n"))
  }

  @Test func `the counts of several phones are the least that one has shown, and all failures`() {
    var (first, second) = (Counts(), Counts())
    (first.sent, first.shown, first.lost) = (5, 4, 1)
    (second.sent, second.shown, second.duplicated) = (5, 5, 2)
    let both = Counts.together([first, second])
    #expect(both.sent == 5 && both.shown == 4 && both.lost == 1 && both.duplicated == 2)
    #expect(!both.isClean)
  }
}
