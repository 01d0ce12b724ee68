/* A Kafka cluster of librdkafka's mock brokers, in memory: kafka-mock TOPIC. Prints its bootstrap servers once it serves,
 * and ends with its standard input. For each byte that it reads there it prints all messages of the topic, each as a line
 * `HEADER... VALUE` with the values of its headers, `-` as the first of them where it has a key; then an empty line. */
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdio.h>
#include <unistd.h>

enum { BROKERS = 2, PARTITIONS = 3 };

static void print_message(const rd_kafka_message_t *message) {
  rd_kafka_headers_t *headers;
  const char *name;
  const void *value;
  size_t size;
  if (!rd_kafka_message_headers(message, &headers))
    for (size_t at = 0; !rd_kafka_header_get_all(headers, at, &name, &value, &size); at++)
      printf("%.*s ", (int)size, (const char *)value);
  fwrite(message->payload, 1, message->len, stdout);
  putchar('\n');
}

static void print_all(const char *servers, const char *topic) {
  char error[512];
  rd_kafka_conf_t *conf = rd_kafka_conf_new();
  rd_kafka_conf_set(conf, "bootstrap.servers", servers, error, sizeof error);
  rd_kafka_conf_set(conf, "group.id", "reader", error, sizeof error);
  rd_kafka_conf_set(conf, "enable.partition.eof", "true", error, sizeof error);
  rd_kafka_t *reader = rd_kafka_new(RD_KAFKA_CONSUMER, conf, error, sizeof error);
  rd_kafka_poll_set_consumer(reader);
  rd_kafka_topic_partition_list_t *all = rd_kafka_topic_partition_list_new(PARTITIONS);
  for (int at = 0; at < PARTITIONS; at++)
    rd_kafka_topic_partition_list_add(all, topic, at)->offset = RD_KAFKA_OFFSET_BEGINNING;
  rd_kafka_assign(reader, all);
  rd_kafka_topic_partition_list_destroy(all);
  for (int left = PARTITIONS; left > 0;) {
    rd_kafka_message_t *message = rd_kafka_consumer_poll(reader, 100);
    if (!message) continue;
    if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) left--;
    else if (!message->err) print_message(message);
    rd_kafka_message_destroy(message);
  }
  putchar('\n');
  fflush(stdout);
  rd_kafka_consumer_close(reader);
  rd_kafka_destroy(reader);
}

int main(int argc, char **argv) {
  char error[512];
  rd_kafka_t *handle = rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), error, sizeof error);
  if (argc < 2 || !handle) return 1;
  rd_kafka_mock_cluster_t *cluster = rd_kafka_mock_cluster_new(handle, BROKERS);
  rd_kafka_mock_topic_create(cluster, argv[1], PARTITIONS, BROKERS);
  /* Left to chance, one broker leads them all now and then. */
  for (int at = 0; at < PARTITIONS; at++) rd_kafka_mock_partition_set_leader(cluster, argv[1], at, 1 + at % BROKERS);
  const char *servers = rd_kafka_mock_cluster_bootstraps(cluster);
  printf("%s\n", servers);
  fflush(stdout);
  char asked;
  while (read(0, &asked, 1) > 0) print_all(servers, argv[1]);
  return 0;
}
