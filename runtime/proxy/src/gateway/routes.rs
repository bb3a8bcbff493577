//! Which request belongs to whom.
//!
//! Ids and progress tokens are each peer's own, so two servers, or a server and the
//! client, may use the same. Every request that passes the gateway gets a number that
//! no other has, in the place of both.

use crate::gateway::tasks::Tasked;
use bouncer_mcp::id::Key;
use std::collections::{HashMap, HashSet, VecDeque};
use tokio::sync::oneshot;

/// Requests of the client that are open at once.
const MAX_OPEN: usize = 16 * 1024;
/// Requests of the servers that are open at once.
const MAX_SERVER_OPEN: usize = 16 * 1024;
/// Cancelled requests that may still be answered.
const MAX_CANCELLED: usize = 1024;

/// What one of the gateway's own requests came to: the raw result, or the raw error.
pub(crate) type Reply = Result<Vec<u8>, Vec<u8>>;

/// Where a request goes, or why nowhere.
pub(crate) type Whose<T> = Result<T, String>;

/// A request on its way: who made it, and how they spelled what was replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// The server that it was sent to, or came from.
    pub server: usize,
    pub key: Key,
    pub id: Box<[u8]>,
    /// The progress token, if it had one.
    pub token: Option<Box<[u8]>>,
    pub tasked: Tasked,
}

/// All open requests.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    last: u64,
    of_client: HashMap<u64, Request>,
    client_keys: HashMap<Key, u64>,
    cancelled: VecDeque<u64>,
    /// Requests of the client that the gateway answers itself, but not at once.
    answering: HashSet<Key>,
    of_servers: HashMap<u64, Request>,
    server_keys: HashMap<(usize, Key), u64>,
    own: HashMap<u64, (usize, oneshot::Sender<Reply>)>,
}

impl Routes {
    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Whether the client uses that id already.
    pub(crate) fn is_taken(&self, key: &Key) -> bool {
        self.client_keys.contains_key(key) || self.answering.contains(key)
    }

    /// Whether the client may open another request.
    pub(crate) fn has_room(&self) -> bool {
        self.of_client.len() + self.answering.len() < MAX_OPEN
    }

    /// Opens a request of the client; gives its number.
    pub(crate) fn open(&mut self, request: Request) -> u64 {
        let number = self.next();
        self.client_keys.insert(request.key.clone(), number);
        self.of_client.insert(number, request);
        number
    }

    /// The request of the client that an answer of `server` closes.
    pub(crate) fn close(&mut self, server: usize, number: u64) -> Option<Request> {
        if self.of_client.get(&number)?.server != server {
            return None;
        }
        self.remove(number)
    }

    fn remove(&mut self, number: u64) -> Option<Request> {
        let request = self.of_client.remove(&number)?;
        self.client_keys.remove(&request.key);
        self.cancelled.retain(|&cancelled| cancelled != number);
        Some(request)
    }

    /// An open request of the client that went to `server`.
    pub(crate) fn find(&self, server: usize, number: u64) -> Option<&Request> {
        let request = self.of_client.get(&number)?;
        (request.server == server).then_some(request)
    }

    /// Takes a request of the client back: where it went, and its number. It may still
    /// be answered.
    pub(crate) fn cancel(&mut self, key: &Key) -> Option<(usize, u64)> {
        if self.answering.remove(key) {
            return None;
        }
        let number = *self.client_keys.get(key)?;
        let server = self.of_client.get(&number)?.server;
        if !self.cancelled.contains(&number) {
            self.cancelled.push_back(number);
        }
        if self.cancelled.len() > MAX_CANCELLED
            && let Some(oldest) = self.cancelled.pop_front()
        {
            self.remove(oldest);
        }
        Some((server, number))
    }

    /// The gateway will answer this request of the client.
    pub(crate) fn start_answering(&mut self, key: &Key) {
        self.answering.insert(key.clone());
    }

    /// Whether the client still waits for that answer.
    pub(crate) fn end_answering(&mut self, key: &Key) -> bool {
        self.answering.remove(key)
    }

    /// Whether answers are owed that only the gateway can give.
    pub(crate) fn is_answering(&self) -> bool {
        !self.answering.is_empty()
    }

    /// Opens a request of a server to the client; `None`: its id is in use, or too many
    /// are open.
    pub(crate) fn open_server(&mut self, request: Request) -> Option<u64> {
        let key = (request.server, request.key.clone());
        if self.of_servers.len() >= MAX_SERVER_OPEN || self.server_keys.contains_key(&key) {
            return None;
        }
        let number = self.next();
        self.server_keys.insert(key, number);
        self.of_servers.insert(number, request);
        Some(number)
    }

    /// The request of a server that an answer of the client closes.
    pub(crate) fn close_server(&mut self, number: u64) -> Option<Request> {
        let request = self.of_servers.remove(&number)?;
        self.server_keys
            .remove(&(request.server, request.key.clone()));
        Some(request)
    }

    /// An open request of a server.
    pub(crate) fn find_server(&self, number: u64) -> Option<&Request> {
        self.of_servers.get(&number)
    }

    /// A server takes its request back; gives its number. Clients do not answer it.
    pub(crate) fn cancel_server(&mut self, server: usize, key: &Key) -> Option<u64> {
        let number = self.server_keys.get(&(server, key.clone())).copied()?;
        self.close_server(number).map(|_| number)
    }

    /// Opens a request of the gateway's own to a server.
    pub(crate) fn open_own(&mut self, server: usize) -> (u64, oneshot::Receiver<Reply>) {
        let (sender, receiver) = oneshot::channel();
        let number = self.next();
        self.own.insert(number, (server, sender));
        (number, receiver)
    }

    /// Who waits for that answer of `server`.
    pub(crate) fn close_own(
        &mut self,
        server: usize,
        number: u64,
    ) -> Option<oneshot::Sender<Reply>> {
        if self.own.get(&number)?.0 != server {
            return None;
        }
        self.own.remove(&number).map(|(_, sender)| sender)
    }

    /// A server is gone: gives the client's requests that it will not answer, and the
    /// numbers of its own that nobody waits for any more.
    pub(crate) fn close_all(&mut self, server: usize) -> (Vec<Request>, Vec<u64>) {
        self.own.retain(|_, (of, _)| *of != server);
        let numbers = |open: &HashMap<u64, Request>| -> Vec<u64> {
            let mut numbers: Vec<u64> = open
                .iter()
                .filter(|(_, request)| request.server == server)
                .map(|(&number, _)| number)
                .collect();
            numbers.sort_unstable();
            numbers
        };
        let unanswered = numbers(&self.of_client);
        let unasked = numbers(&self.of_servers);
        for &number in &unasked {
            self.close_server(number);
        }
        let requests = unanswered.into_iter().filter_map(|n| self.remove(n));
        (requests.collect(), unasked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(server: usize, id: &str) -> Request {
        Request {
            server,
            key: Key::parse(id.as_bytes()).unwrap(),
            id: id.as_bytes().into(),
            token: None,
            tasked: Tasked::No,
        }
    }

    #[test]
    fn nobody_answers_for_another() {
        let mut routes = Routes::default();
        let one = routes.open(request(0, "1"));
        let two = routes.open(request(1, "2"));
        assert_eq!(routes.close(1, one), None);
        assert_eq!(routes.find(0, two), None);
        let (own, _receiver) = routes.open_own(0);
        assert!(routes.close_own(1, own).is_none());
        assert!(routes.is_taken(&Key::Whole(1)));
        assert_eq!(routes.close(0, one), Some(request(0, "1")));
        assert!(!routes.is_taken(&Key::Whole(1)));
        assert_eq!(routes.close(0, one), None);
    }

    #[test]
    fn two_servers_may_use_one_id() {
        let mut routes = Routes::default();
        let one = routes.open_server(request(0, "1")).unwrap();
        let two = routes.open_server(request(1, "1")).unwrap();
        assert_ne!(one, two);
        assert_eq!(routes.open_server(request(0, "1.0")), None);
        assert_eq!(routes.cancel_server(1, &Key::Whole(1)), Some(two));
        assert_eq!(routes.close_server(two), None);
        assert_eq!(routes.close_server(one).unwrap().server, 0);
    }

    #[test]
    fn what_is_never_answered_is_forgotten() {
        let mut routes = Routes::default();
        for id in 0..MAX_CANCELLED + 10 {
            routes.open(request(0, &id.to_string()));
            assert!(routes.cancel(&Key::Whole(id as i128)).is_some());
        }
        assert_eq!(routes.of_client.len(), MAX_CANCELLED);
        assert_eq!(routes.client_keys.len(), MAX_CANCELLED);
        let (requests, _) = routes.close_all(0);
        assert_eq!(requests.len(), MAX_CANCELLED);
        assert!(routes.cancelled.is_empty() && routes.client_keys.is_empty());
    }
}
