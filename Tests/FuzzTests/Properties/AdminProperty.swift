import HoldfastCore
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastOperators
import HoldfastServerParts

/// The properties of requests of operators, and of the file of erasures.
enum AdminProperty {
  static func check(_ bytes: [UInt8]) throws(Broken) {
    var choices = Choices(bytes)
    switch choices.byte() % 2 {
    case 0: try request(&choices)
    case _: try jobs(Array(choices.rest))
    }
  }

  private static let methods = ["GET", "HEAD", "POST", "DELETE", "PUT"]

  private static func request(_ choices: inout Choices) throws(Broken) {
    let method = methods[Int(choices.byte()) % methods.count]
    let segments = choices.text().split(separator: "/", omittingEmptySubsequences: false)
    let path = ["admin"] + segments.map(String.init)
    var query: [(name: String, value: String)] = []
    for _ in 0..<choices.byte() % 4 { query.append((choices.text(), choices.text())) }
    let call: AdminCall
    do throws(HTTPRefusal) {
      call = try AdminCall.read(
        method: method, path: path, query: query, body: Array(choices.rest))
    } catch {
      try hold((400...405).contains(error.status), "a refusal is one of the client's faults")
      try hold(!error.message.isEmpty, "a refusal says why")
      return
    }
    switch call {
    case .connections(_, let page), .presence(_, let page), .jobs(let page), .phones(let page):
      try hold(AdminPage.limits.contains(page.limit), "a page is bounded")
    case .disconnectUser(let user, _), .erase(let user):
      try hold((1...AdminCall.maxUserBytes).contains(user.utf8.count), "a user is bounded")
    case .publish(let post):
      try hold((1...AdminCall.maxUserBytes).contains(post.author.utf8.count), "so is an author")
      switch post.call(MessageLimits()) {
      case .send(let draft): try hold(draft.key == post.key, "a post has its key")
      case .refused(let refusal): try hold(refusal.status >= 400, "or is refused as a client's")
      case .edit, .delete, .all, .page, .streamHealth: throw Broken("a post is a post")
      }
    case .disconnect, .job, .drain: break
    }
  }

  private static func jobs(_ content: [UInt8]) throws(Broken) {
    guard let jobs = try? EraseJobs.decode(content) else { return }
    let again = try? EraseJobs.decode(jobs.encode())
    try hold(again == jobs, "erasures that were read can be written")
    try hold(
      jobs.all.allSatisfy { $0.isDone == ($0.user == nil) }, "only an open erasure names a user")
  }
}
