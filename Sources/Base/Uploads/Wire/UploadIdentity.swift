package import HoldfastCore

extension UploadAnswer {
  /// The epoch that the response contains.
  package var epoch: String? { SyncIdentity.epoch { headers[$0] } }
}

extension UploadSupport {
  /// Handles the response to the request for the owner of the progress.
  ///
  /// - Parameter server: The address of the server.
  /// - Returns: The identity, even for a server that does not identify itself. The result is a
  ///   failure if the response is a transient failure or its body reports an error.
  package mutating func identified(
    _ answer: UploadAnswer, server: String
  ) -> Result<SyncIdentity, LinkFailure> {
    // Some servers report an error in the body of a response with a successful status.
    guard !UploadReply.isTransient(answer.status), !SyncReply.isDenied(answer.body) else {
      return .failure(answer.failure)
    }
    takesGzip = answer.offersGzip
    guard (200..<300).contains(answer.status) else {
      return .success(SyncIdentity(SyncOwner(server: server)))
    }
    return .success(SyncIdentity(answer.body, server: server))
  }
}
