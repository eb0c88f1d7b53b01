import Holdfast
import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastFeaturePorts

/// A shop that `stream` follows: its stream, its view and its consumer.
struct FollowedShop: Sendable {
  let stream: ShopStream
  let view: any LinkView<StreamUpdate>
  let deliveries: StreamDeliveries?
  private let printing: Task<StreamDeliveries.Ending, Never>?

  /// Creates a followed shop. If there is a consumer, starts to print its deliveries.
  init(
    _ stream: ShopStream, _ view: any LinkView<StreamUpdate>, _ deliveries: StreamDeliveries?
  ) {
    (self.stream, self.view, self.deliveries) = (stream, view, deliveries)
    printing = deliveries.map { deliveries in Task { await deliveries.run() } }
  }

  /// The view for the updates of the stream. If there are deliveries, the view omits messages.
  var shown: any LinkView<StreamUpdate> {
    deliveries == nil ? view : ViewBesideDeliveries(view: view)
  }

  /// Waits until everything stored has been delivered and, if required, confirmed.
  func finish() async {
    deliveries?.finish()
    _ = await printing?.value
  }

  /// Ends the run if printing fails or no more confirmations can arrive.
  func watch(
    isOnce: Bool, in group: inout TaskGroup<Void>, end: @escaping @Sendable () async -> Void
  ) {
    guard let deliveries, let printing else { return }
    deliveries.watch(printing, isOnce: isOnce, in: &group, end: end)
  }

  /// Closes the stream and stops printing.
  func close() async {
    await stream.close()
    deliveries?.stop()
    // A delivery that waits for the disk is repeated in the next run.
    printing?.cancel()
  }

  /// Removes a consumer that belongs only to this run. Returns the failure of the deliveries, if
  /// any.
  func forget(in store: any TimelineStore, isOnce: Bool) async -> CommandFailure? {
    let failure = await printing?.value.commandFailure(isOnce: isOnce)
    await deliveries?.end(in: store, of: stream.configuration.shop)
    return failure
  }
}
